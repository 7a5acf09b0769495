"""A turn whose answer comes in thousands of pieces."""

from __future__ import annotations

from benchmarks.clients import McpClient, Stopwatch
from benchmarks.place import Place
from benchmarks.rows import Aim, Row, Unit

ROUNDS = 10
SECONDS = 30.0
DELTAS = 5_000
PROMPT = f"[[scene: long count={DELTAS}]]"
NOT_SLOWER = Aim(times_theirs=1)


def run(place: Place) -> list[Row]:
    """Stream to both in turn, each time in a new thread: an old one would send its long answers along."""
    times: tuple[list[float], list[float]] = ([], [])
    sizes: tuple[list[float], list[float]] = ([], [])
    with McpClient(place.theirs()) as theirs, McpClient(place.ours()) as ours:
        for server in (theirs, ours):
            server.initialize()
            server.start_threads(1, PROMPT)
        for _ in place.effort.rounds(ROUNDS, SECONDS):
            for side, server in enumerate((theirs, ours)):
                before, watch = server.bytes_heard, Stopwatch()
                server.start_threads(1, PROMPT)
                times[side].append(watch.milliseconds())
                sizes[side].append(server.bytes_heard - before)
    return [
        Row(f"turn of {DELTAS:,} deltas", Unit.MILLISECONDS, *times, aim=NOT_SLOWER),
        Row(f"sent to the client for {DELTAS:,} deltas", Unit.BYTES, *sizes),
    ]
