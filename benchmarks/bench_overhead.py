"""What we add to a turn: the same `codex app-server` driven directly ("theirs", here), and through us.

A recorded Codex takes no time, so that all our work for a turn counts; a real one is still at work during most of it.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks import replay
from benchmarks.clients import CoreClient, McpClient, Stopwatch
from benchmarks.lines import Program
from benchmarks.place import Place
from benchmarks.rows import Aim, Row, Unit

ROUNDS_OF_REPLAYS = 1000
ROUNDS_OF_REPLIES = 300
ROUNDS_OF_NEW = 60
SECONDS_OF_REPLAYS = 10.0
SECONDS = 20.0
"""For replies and for new threads each."""

WARM_UP = 20
"""Replayed turns that are not counted; Python remembers by then what it has to look up."""

THREADS = 10
"""Replies go to these in turn, since a thread's history makes each of its turns a little slower."""

FRESH_HOME = "ours-beside-core"
"""With as few threads in it as the bare one's; the home of the other benchmarks has hundreds."""

HALF_AIM = Aim(at_most=1)
NEARLY_ALL_AIM = Aim(at_most=5)

Samples = tuple[list[float], list[float]]


def run(place: Place) -> list[Row]:
    """Run turns on both in turn."""
    return [*_replayed(place), *real_replies(place, "added to a reply", place.ours(home=FRESH_HOME)), _new(place)]


def _replayed(place: Place) -> list[Row]:
    return replayed(place, "added to a recorded turn", lambda codex: place.ours("--codex-bin", str(codex)))


def replayed(place: Place, what: str, ours_with: Callable[[Path], Program]) -> list[Row]:
    """Turns of a recorded Codex, bare and through ours."""
    with CoreClient(place.core()) as real:
        real.initialize()
        recording = real.record()
    folder = place.folder / f"replay {what}"
    codex = replay.program(folder, recording, importlib.metadata.version("openai-codex-cli-bin"))
    turns: Samples = ([], [])
    with CoreClient(place.replayed_core(codex)) as core, McpClient(ours_with(codex)) as ours:
        core.initialize()
        ours.initialize()
        in_core, in_ours = core.start_thread(), ours.start_threads(1)
        for _ in range(WARM_UP):
            core.reply(in_core)
            ours.reply(in_ours)
        for _ in place.effort.rounds(ROUNDS_OF_REPLAYS, SECONDS_OF_REPLAYS):
            turns[0].append(_timed(lambda: core.reply(in_core)))
            turns[1].append(_timed(lambda: ours.reply(in_ours)))
    return _rows(what, turns)


def real_replies(place: Place, what: str, ours_is: Program) -> list[Row]:
    """Turns of the real Codex, bare and through ours."""
    replies: Samples = ([], [])
    with CoreClient(place.core()) as core, McpClient(ours_is) as ours:
        core.initialize()
        ours.initialize()
        threads = [(core.start_thread(), ours.start_threads(1)) for _ in range(THREADS)]
        for number in place.effort.rounds(ROUNDS_OF_REPLIES, SECONDS):
            in_core, in_ours = threads[number % THREADS]
            replies[0].append(_timed(partial(core.reply, in_core)))
            replies[1].append(_timed(partial(ours.reply, in_ours)))
    return _rows(what, replies)


def _new(place: Place) -> Row:
    new: Samples = ([], [])
    with CoreClient(place.core()) as core, McpClient(place.ours(home=FRESH_HOME)) as ours:
        core.initialize()
        ours.initialize()
        for _ in place.effort.rounds(ROUNDS_OF_NEW, SECONDS):
            new[0].append(_timed(core.start_thread))
            new[1].append(_timed(lambda: ours.start_threads(1)))
    return Row("added to a new thread", Unit.MILLISECONDS, *new, aim=HALF_AIM, is_difference=True)


def _rows(what: str, samples: Samples) -> list[Row]:
    unit = Unit.MILLISECONDS
    return [
        Row(f"{what}, median", unit, *samples, aim=HALF_AIM, is_difference=True),
        Row(f"{what}, p99", unit, *samples, aim=NEARLY_ALL_AIM, part=0.99, is_difference=True),
    ]


def _timed(deed: Callable[[], object]) -> float:
    watch = Stopwatch()
    deed()
    return watch.milliseconds()
