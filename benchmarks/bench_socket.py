"""What the control socket costs whoever does not use it: the start of a server, and a turn while nobody watches."""

from __future__ import annotations

from benchmarks.bench_dashboard import recorded_codex, turns_of
from benchmarks.clients import McpClient, Stopwatch
from benchmarks.lines import Program
from benchmarks.place import Place
from benchmarks.rows import Aim, Row, Unit

ROUNDS = 60
SECONDS = 30.0
KINDS = ("without", "with")
AIM = Aim(times_theirs=1.01)
QUIET = 0.25
"""The quarter of the samples that other programs have disturbed least: what is compared differs by hundredths."""


def run(place: Place) -> list[Row]:
    """Both sides are the same program; theirs makes no socket."""
    return [_started(place), _idle(place)]


def _started(place: Place) -> Row:
    starts: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for kind in KINDS:
        _start(place.with_or_without_socket(kind))
    for number in place.effort.rounds(ROUNDS, SECONDS):
        for kind in KINDS if number % 2 else reversed(KINDS):
            starts[kind].append(_start(place.with_or_without_socket(kind)))
    what = "start of serve to the answer to initialize; theirs: no control socket"
    return Row(what, Unit.MILLISECONDS, starts["without"], starts["with"], AIM, QUIET)


def _start(program: Program) -> float:
    watch = Stopwatch()
    with McpClient(program) as server:
        server.initialize()
        return watch.milliseconds()


def _idle(place: Place) -> Row:
    """Each kind is the first of two servers as often as the second: that alone makes some hundredths."""
    flags = ("--codex-bin", str(recorded_codex(place, "replay socket")), "--summary-timeout", "0")
    turns: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for order in (KINDS, KINDS[::-1]):
        first, second = (place.with_or_without_socket(kind, *flags) for kind in order)
        with McpClient(first) as one, McpClient(second) as other:
            for server in (one, other):
                server.initialize()
            for kind, found in zip(order, turns_of(place, (one, other)), strict=True):
                turns[kind] += found
    what = "a recorded turn with the control socket open, nobody watching; theirs: no control socket"
    return Row(what, Unit.MILLISECONDS, turns["without"], turns["with"], AIM, QUIET)
