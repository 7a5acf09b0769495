"""How fast the output of commands comes through: of one, of fifty, and of one on a terminal."""

from __future__ import annotations

from benchmarks.clients import Stopwatch
from benchmarks.exec_servers import ExecServer, both
from benchmarks.exec_talk import ExecTalk
from benchmarks.place import Place
from benchmarks.rows import Aim, Row, Unit

ROUNDS = 10
SECONDS = 40.0

BLOCK = 64 * 1024
ONE = 2048
"""Blocks that a single command writes: 128 MiB."""

MANY = 50
OF_MANY = 80
"""Blocks that each of many writes: 5 MiB."""

ON_TERMINAL = 256
"""Blocks that one writes on a terminal, which is slower: 16 MiB."""

WANTED = Aim(at_least=300)


def run(place: Place) -> list[Row]:
    """Let commands write on both in turn."""
    one: tuple[list[float], list[float]] = ([], [])
    many: tuple[list[float], list[float]] = ([], [])
    terminal: tuple[list[float], list[float]] = ([], [])
    work: tuple[list[float], list[float]] = ([], [])
    with both(place) as servers:
        for _ in place.effort.rounds(ROUNDS, SECONDS):
            for side, server in enumerate(servers):
                with server.talk() as talk:
                    before = server.cpu_milliseconds()
                    one[side].append(_rate(server, talk, 1, ONE))
                    work[side].append((server.cpu_milliseconds() - before) * 1e6 / (ONE * BLOCK))
                    many[side].append(_rate(server, talk, MANY, OF_MANY))
                    terminal[side].append(_rate(server, talk, 1, ON_TERMINAL, tty=True))
    return [
        Row("exec: output of one process (more is better)", Unit.MEGABYTES_PER_SECOND, *one, WANTED),
        Row("… processor time of the server per megabyte", Unit.MILLISECONDS, *work),
        Row(f"exec: output of {MANY} processes (more is better)", Unit.MEGABYTES_PER_SECOND, *many, WANTED),
        Row("exec: output on a terminal (more is better)", Unit.MEGABYTES_PER_SECOND, *terminal),
    ]


def writer(blocks: int) -> list[str]:
    """A command that writes so many blocks, and takes next to no time for it."""
    return ["dd", "if=/dev/zero", f"bs={BLOCK}", f"count={blocks}", "status=none"]


def _rate(server: ExecServer, talk: ExecTalk, processes: int, blocks: int, *, tty: bool = False) -> float:
    size = processes * blocks * BLOCK
    watch = Stopwatch()
    talk.run_all([talk.process(writer(blocks), server.cwd, tty=tty) for _ in range(processes)], size)
    return size / 1000 / watch.milliseconds()
