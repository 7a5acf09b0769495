"""What a request costs that needs no Codex."""

from __future__ import annotations

from benchmarks.clients import McpClient, Stopwatch
from benchmarks.place import Place
from benchmarks.rows import Row, Unit

ROUNDS = 10
SECONDS = 15.0

SINGLE = 200
"""Round trips of a round; the mean of a round is one sample, as a single one is too short for the clock to be fair."""

PIPELINED = 2_000
"""Pings sent in one go."""


def run(place: Place) -> list[Row]:
    """Ping both in turn: one after the other, then all at once."""
    single: tuple[list[float], list[float]] = ([], [])
    rates: tuple[list[float], list[float]] = ([], [])
    with McpClient(place.theirs()) as theirs, McpClient(place.ours()) as ours:
        for server in (theirs, ours):
            server.initialize()
            server.start_threads(1)  # ours has started its Codex by then, and does nothing else
            server.ping(PIPELINED)
        for _ in place.effort.rounds(ROUNDS, SECONDS):
            for side, server in enumerate((theirs, ours)):
                single[side].append(_round_trip(server))
                rates[side].append(_rate(server))
    return [
        Row("ping, round trip", Unit.MICROSECONDS, *single),
        Row("pings answered, pipelined (more is better)", Unit.PER_SECOND, *rates),
    ]


def _round_trip(server: McpClient) -> float:
    watch = Stopwatch()
    for _ in range(SINGLE):
        server.ping(1)
    return watch.milliseconds() * 1000 / SINGLE


def _rate(server: McpClient) -> float:
    watch = Stopwatch()
    server.ping(PIPELINED)
    return PIPELINED * 1000 / watch.milliseconds()
