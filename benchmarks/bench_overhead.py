"""What we add to a turn: the same `codex app-server`, driven directly, and through us."""

from __future__ import annotations

from benchmarks.clients import CoreClient, McpClient, Stopwatch
from benchmarks.place import Place
from benchmarks.rows import Aim, Row, Unit

ROUNDS_OF_REPLIES = 300
ROUNDS_OF_NEW = 60
SECONDS = 25.0
"""For each of the two."""

HALF_AIM = Aim(at_most=1)
NEARLY_ALL_AIM = Aim(at_most=5)

THREADS = 10
"""Replies go to these in turn, since a thread's history makes each of its turns a little slower."""


def run(place: Place) -> list[Row]:
    """Run turns on both in turn. In this table, "theirs" is the bare app-server."""
    replies: tuple[list[float], list[float]] = ([], [])
    new: tuple[list[float], list[float]] = ([], [])
    with CoreClient(place.core()) as core, McpClient(place.ours()) as ours:
        core.initialize()
        ours.initialize()
        threads = [(core.start_thread(), ours.start_threads(1)[0]) for _ in range(THREADS)]
        for number in place.effort.rounds(ROUNDS_OF_REPLIES, SECONDS):
            in_core, in_ours = threads[number % THREADS]
            watch = Stopwatch()
            core.reply(in_core)
            replies[0].append(watch.milliseconds())
            watch = Stopwatch()
            ours.reply([in_ours])
            replies[1].append(watch.milliseconds())
        for _ in place.effort.rounds(ROUNDS_OF_NEW, SECONDS):
            watch = Stopwatch()
            core.start_thread()
            new[0].append(watch.milliseconds())
            watch = Stopwatch()
            ours.start_threads(1)
            new[1].append(watch.milliseconds())
    what, unit = "added to a bare app-server's reply", Unit.MILLISECONDS
    return [
        Row(f"{what}, median", unit, *replies, aim=HALF_AIM, is_difference=True),
        Row(f"{what}, p99", unit, *replies, aim=NEARLY_ALL_AIM, part=0.99, is_difference=True),
        Row("added to a bare app-server's new thread, median", unit, *new, aim=HALF_AIM, is_difference=True),
    ]
