"""How long a client waits for a server that it has just started."""

from __future__ import annotations

from benchmarks.clients import McpClient, Stopwatch
from benchmarks.lines import Program
from benchmarks.place import Place
from benchmarks.rows import Aim, Row, Unit

ROUNDS = 15
SECONDS = 20.0
INITIALIZE_AIM = Aim(at_most=150)


def run(place: Place) -> list[Row]:
    """Start both in turn, with a CODEX_HOME that has been used before; ask for a turn as soon as they answer."""
    their_starts, our_starts = [], []
    for program in (place.theirs(), place.ours()):
        _start(program)
    for _ in place.effort.rounds(ROUNDS, SECONDS):
        their_starts.append(_start(place.theirs()))
        our_starts.append(_start(place.ours()))
    return [
        Row(
            "start to the answer to initialize",
            Unit.MILLISECONDS,
            [start[0] for start in their_starts],
            [start[0] for start in our_starts],
            INITIALIZE_AIM,
        ),
        Row(
            "start to the first turn's answer",
            Unit.MILLISECONDS,
            [start[1] for start in their_starts],
            [start[1] for start in our_starts],
        ),
    ]


def _start(program: Program) -> tuple[float, float]:
    watch = Stopwatch()
    with McpClient(program) as server:
        server.initialize()
        initialized = watch.milliseconds()
        server.start_threads(1)
        return initialized, watch.milliseconds()
