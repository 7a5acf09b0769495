"""Turns in which the model says one word: in a new thread and as a reply, one at a time and twenty at once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from benchmarks.clients import McpClient, Stopwatch
from benchmarks.place import Place
from benchmarks.rows import Aim, Row, Unit

ROUNDS_OF_ONE = 40
ROUNDS_OF_MANY = 8
SECONDS_OF_ONE = 15.0
SECONDS_OF_MANY = 40.0
AT_ONCE = 20
NOT_SLOWER = Aim(times_theirs=1)


def run(place: Place) -> list[Row]:
    """Let both run turns in turn."""
    return [*_one_at_a_time(place), *_many_at_once(place)]


class _Side:
    """One server, with threads to reply to, and what was measured of it."""

    def __init__(self, server: McpClient, threads: int) -> None:
        self.server = server
        server.initialize()
        self.threads = server.start_threads(threads)
        server.reply(self.threads)
        self.new: list[float] = []
        self.reply: list[float] = []
        self.bytes: list[float] = []

    def measure(self) -> None:
        """Run the turns once."""
        number = len(self.threads)
        self.new.append(_timed(lambda: self.server.start_threads(number)))
        before = self.server.bytes_heard
        self.reply.append(_timed(lambda: self.server.reply(self.threads)))
        self.bytes.append((self.server.bytes_heard - before) / number)


def _timed(deed: Callable[[], object]) -> float:
    watch = Stopwatch()
    deed()
    return watch.milliseconds()


def _sides(place: Place, stack: ExitStack, threads: int) -> tuple[_Side, _Side]:
    theirs = _Side(stack.enter_context(McpClient(place.theirs())), threads)
    return theirs, _Side(stack.enter_context(McpClient(place.ours())), threads)


def _one_at_a_time(place: Place) -> list[Row]:
    with ExitStack() as stack:
        theirs, ours = _sides(place, stack, threads=1)
        for _ in place.effort.rounds(ROUNDS_OF_ONE, SECONDS_OF_ONE):
            theirs.measure()
            ours.measure()
    return [
        Row("trivial turn, new thread", Unit.MILLISECONDS, theirs.new, ours.new, NOT_SLOWER),
        Row("trivial turn, reply", Unit.MILLISECONDS, theirs.reply, ours.reply, NOT_SLOWER),
        Row("sent to the client per reply", Unit.BYTES, theirs.bytes, ours.bytes),
    ]


def _many_at_once(place: Place) -> list[Row]:
    with ExitStack() as stack:
        theirs, ours = _sides(place, stack, threads=AT_ONCE)
        for _ in place.effort.rounds(ROUNDS_OF_MANY, SECONDS_OF_MANY):
            theirs.measure()
            ours.measure()
    return [
        Row(f"{AT_ONCE} trivial turns at once, new threads", Unit.MILLISECONDS, theirs.new, ours.new, NOT_SLOWER),
        Row(f"{AT_ONCE} trivial turns at once, replies", Unit.MILLISECONDS, theirs.reply, ours.reply, NOT_SLOWER),
    ]
