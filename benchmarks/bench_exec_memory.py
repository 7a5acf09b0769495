"""Memory of an exec-server: idle, with many processes, with many connections; its guard is counted in."""

from __future__ import annotations

import sys
from contextlib import ExitStack

from benchmarks.exec_servers import ExecServer
from benchmarks.lines import Program
from benchmarks.memory import can_be_measured
from benchmarks.place import Place
from benchmarks.rows import Aim, Row, Unit

ROUNDS = 3
SECONDS = 25.0
PROCESSES = 200
CONNECTIONS = 200
SLEEP = ["sleep", "1000"]


def run(place: Place) -> list[Row]:
    """Both in turn, each in a new process every time."""
    if not can_be_measured():
        print("exec-memory: left out, only Linux tells", file=sys.stderr)
        return []
    theirs, ours = [], []
    for _ in place.effort.rounds(ROUNDS, SECONDS):
        theirs.append(_sizes(place.exec_theirs()))
        ours.append(_sizes(place.exec_ours()))
    (their_idle, their_busy, their_full), (idle, busy, full) = zip(*theirs, strict=True), zip(*ours, strict=True)
    unit = Unit.MEBIBYTES
    return [
        Row("exec: memory, idle", unit, their_idle, idle, Aim(at_most=35)),
        Row(f"exec: memory, {PROCESSES} processes", unit, their_busy, busy, Aim(at_most=45)),
        Row(f"exec: memory, {CONNECTIONS} connections", unit, their_full, full),
    ]


def _sizes(program: Program) -> tuple[float, float, float]:
    with ExecServer(program) as server:
        idle = server.resident_mebibytes()
        busy = _with_processes(server)
    with ExecServer(program) as server:
        return idle, busy, _with_connections(server)


def _with_processes(server: ExecServer) -> float:
    with server.talk() as talk:
        talk.ask_all([talk.process(SLEEP, server.cwd) for _ in range(PROCESSES)])
        talk.hear_answers(PROCESSES)
        return server.resident_mebibytes()


def _with_connections(server: ExecServer) -> float:
    with ExitStack() as stack:
        for _ in range(CONNECTIONS):
            stack.enter_context(server.talk())
        return server.resident_mebibytes()
