"""Fifty agents with names in one `codex-mcp serve`, beside fifty `codex mcp-server`; and what a team adds to a turn."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.bench_memory import many_servers
from benchmarks.bench_overhead import real_replies, replayed
from benchmarks.clients import McpClient, Stopwatch
from benchmarks.lines import Program
from benchmarks.memory import can_be_measured, memory_of
from benchmarks.place import Place
from benchmarks.rows import Aim, Row, Unit

AGENTS = 50
FIFTY = ("--max-concurrent-threads", str(AGENTS), "--summary-timeout", "0")
ROUNDS = 3
SECONDS = 60.0
TURNS = 5
"""Replies of each agent, all agents at once, whose median counts."""

SHARE_OF_FIFTY = Aim(times_theirs=0.6)


def run(place: Place) -> list[Row]:
    """In turn: fifty servers of theirs, one of ours; then recorded and real turns, bare and through a team."""
    return [*_fifty(place), *_added(place)]


def _fifty(place: Place) -> list[Row]:
    if not can_be_measured():
        print("team: memory is left out, only Linux tells the PSS", file=sys.stderr)
        return []
    theirs, ours, one_server, replies = [], [], [], []
    for _ in place.effort.rounds(ROUNDS, SECONDS):
        theirs.append(many_servers(place.theirs(), AGENTS).pss)
        with McpClient(place.theirs()) as server:
            server.initialize()
            one_server.append(_replies_at_once(server))
        with McpClient(place.team(*FIFTY)) as team:
            team.initialize()
            replies.append(_replies_at_once(team))
            ours.append(memory_of([team.pid]).pss)
    return [
        Row(f"memory, {AGENTS} agents; theirs in {AGENTS} servers", Unit.MEBIBYTES, theirs, ours, SHARE_OF_FIFTY),
        Row(f"a reply of each of {AGENTS} at once", Unit.MILLISECONDS, one_server, replies),
    ]


def _replies_at_once(server: McpClient) -> float:
    threads = server.start_threads(AGENTS)
    watch = Stopwatch()
    for _ in range(TURNS):
        server.reply(threads)
    return watch.milliseconds() / TURNS


def _added(place: Place) -> list[Row]:
    def team(codex: Path) -> Program:
        return place.team("--codex-bin", str(codex), "--summary-timeout", "0", home="team-replay")

    real = place.team("--summary-timeout", "0", home="team-beside-core")
    return [
        *replayed(place, "added by a team to a recorded turn", team),
        *real_replies(place, "added by a team to a reply", real),
    ]
