"""Memory when twenty agents have run a turn each, all at once, and wait for the next."""

from __future__ import annotations

import sys
from contextlib import ExitStack

from benchmarks.clients import PROMPT, McpClient
from benchmarks.lines import Program
from benchmarks.memory import Memory, can_be_measured, memory_of
from benchmarks.place import Place
from benchmarks.rows import Aim, Row, Unit

ROUNDS = 3
SECONDS = 40.0
AGENTS = 20
SHARE_OF_TWENTY = Aim(times_theirs=0.6)


def run(place: Place) -> list[Row]:
    """Twenty threads in one of theirs, one thread in each of twenty of theirs, twenty threads in ours; in turn."""
    if not can_be_measured():
        print("memory: left out, only Linux tells the PSS", file=sys.stderr)
        return []
    one, many, ours = [], [], []
    for _ in place.effort.rounds(ROUNDS, SECONDS):
        one.append(_one_server(place.theirs()))
        many.append(many_servers(place.theirs()))
        ours.append(_one_server(place.ours()))
    unit = Unit.MEBIBYTES
    return [
        Row(f"memory, {AGENTS} threads; theirs in {AGENTS} servers", unit, _pss(many), _pss(ours), SHARE_OF_TWENTY),
        Row("… without the pages of files", unit, _anonymous(many), _anonymous(ours)),
        Row(f"memory, {AGENTS} threads; theirs in one server", unit, _pss(one), _pss(ours)),
        Row("… without the pages of files", unit, _anonymous(one), _anonymous(ours)),
    ]


def _pss(samples: list[Memory]) -> list[float]:
    return [sample.pss for sample in samples]


def _anonymous(samples: list[Memory]) -> list[float]:
    return [sample.anonymous for sample in samples]


def _one_server(program: Program) -> Memory:
    with McpClient(program) as server:
        server.initialize()
        server.start_threads(AGENTS)
        return memory_of([server.pid])


def many_servers(program: Program, agents: int = AGENTS) -> Memory:
    """One thread in each of so many servers."""
    with ExitStack() as stack:
        servers = [stack.enter_context(McpClient(program)) for _ in range(agents)]
        for server in servers:
            server.initialize()
        call = {"name": "codex", "arguments": {"prompt": PROMPT}}
        calls = [(server, server.request("tools/call", call)) for server in servers]
        for server, request_id in calls:
            server.answer(request_id)
        return memory_of([server.pid for server in servers])
