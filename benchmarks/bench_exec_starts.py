"""How long it takes to run a command that does nothing, and how many can be run per second."""

from __future__ import annotations

from benchmarks.clients import Stopwatch
from benchmarks.exec_servers import ExecServer, both
from benchmarks.exec_talk import ExecTalk
from benchmarks.place import Place
from benchmarks.rows import Aim, Row, Unit

ROUNDS = 12
SECONDS = 30.0

NOTHING = ["/bin/true"]
IN_TURN = 20
"""Commands of a round, one after the other: each is a sample of the time, and together they are one of the rate."""

PLAIN = 5
"""Fewer, since each takes the real server 50 ms."""

AT_ONCE = 32
BATCHES = 4


def run(place: Place) -> list[Row]:
    """Run commands on both in turn."""
    single: tuple[list[float], list[float]] = ([], [])
    plain: tuple[list[float], list[float]] = ([], [])
    rates: tuple[list[float], list[float]] = ([], [])
    crowds: tuple[list[float], list[float]] = ([], [])
    work: tuple[list[float], list[float]] = ([], [])
    with both(place) as servers:
        for _ in place.effort.rounds(ROUNDS, SECONDS):
            for side, server in enumerate(servers):
                with server.talk(is_plain=True) as talk:
                    plain[side].extend(_times(server, talk, PLAIN))
                with server.talk() as talk:
                    times = _times(server, talk, IN_TURN)
                    before = server.cpu_milliseconds()
                    crowds[side].append(_crowds(server, talk))
                    work[side].append((server.cpu_milliseconds() - before) / (AT_ONCE * BATCHES))
                single[side].extend(times)
                rates[side].append(IN_TURN * 1000 / sum(times))
    return [
        Row("exec: start of /bin/true until it is closed", Unit.MILLISECONDS, *single, Aim(at_most=2.5)),
        Row("… for a client that does not acknowledge at once", Unit.MILLISECONDS, *plain),
        Row("exec: starts, one at a time (more is better)", Unit.PER_SECOND, *rates),
        Row(f"exec: starts, {AT_ONCE} at once (more is better)", Unit.PER_SECOND, *crowds, Aim(at_least=500)),
        Row("… processor time of the server for each", Unit.MILLISECONDS, *work),
    ]


def _times(server: ExecServer, talk: ExecTalk, number: int) -> list[float]:
    times = []
    for _ in range(number):
        watch = Stopwatch()
        talk.run_all([talk.process(NOTHING, server.cwd)])
        times.append(watch.milliseconds())
    return times


def _crowds(server: ExecServer, talk: ExecTalk) -> float:
    watch = Stopwatch()
    for _ in range(BATCHES):
        talk.run_all([talk.process(NOTHING, server.cwd) for _ in range(AT_ONCE)])
    return AT_ONCE * BATCHES * 1000 / watch.milliseconds()
