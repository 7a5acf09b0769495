"""Memory when twenty agents have run a turn each and wait for the next."""

from __future__ import annotations

from contextlib import ExitStack

from benchmarks import memory
from benchmarks.clients import PROMPT, McpClient
from benchmarks.lines import Program
from benchmarks.place import Place
from benchmarks.rows import Aim, Row, Unit

ROUNDS = 3
SECONDS = 40.0
AGENTS = 20
SHARE_OF_TWENTY = Aim(times_theirs=0.6)


def run(place: Place) -> list[Row]:
    """Twenty threads in one of theirs, one thread in each of twenty of theirs, twenty threads in ours; in turn."""
    if not memory.can_be_measured():
        return []
    one, many, ours = [], [], []
    for _ in place.effort.rounds(ROUNDS, SECONDS):
        one.append(_one_server(place.theirs()))
        many.append(_many_servers(place.theirs()))
        ours.append(_one_server(place.ours()))
    return [
        Row(f"memory, {AGENTS} threads; theirs in {AGENTS} servers", Unit.MEBIBYTES, many, ours, SHARE_OF_TWENTY),
        Row(f"memory, {AGENTS} threads; theirs in one server", Unit.MEBIBYTES, one, ours),
    ]


def _one_server(program: Program) -> float:
    with McpClient(program) as server:
        server.initialize()
        server.start_threads(AGENTS)
        return memory.pss_mebibytes([server.pid])


def _many_servers(program: Program) -> float:
    with ExitStack() as stack:
        servers = [stack.enter_context(McpClient(program)) for _ in range(AGENTS)]
        for server in servers:
            server.initialize()
        call = {"name": "codex", "arguments": {"prompt": PROMPT}}
        calls = [(server, server.request("tools/call", call)) for server in servers]
        for server, request_id in calls:
            server.answer(request_id)
        return memory.pss_mebibytes([server.pid for server in servers])
