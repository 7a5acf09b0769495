"""What a request to an exec-server costs, and how fast files and a process's input go through it."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.clients import Stopwatch
from benchmarks.exec_frames import is_news
from benchmarks.exec_servers import ExecServer, both
from benchmarks.exec_talk import ExecTalk
from benchmarks.place import Place
from benchmarks.rows import Aim, Row, Unit

ROUNDS = 12
SECONDS = 25.0

SINGLE = 200
"""Round trips of a round; the mean of a round is one sample."""

WINDOW = 250
WINDOWS = 8
"""Requests sent in one go, and how often."""

ECHOES = 50
READ_BYTES = 16 << 20
WRITE_BYTES = 8 << 20
BLOCK_BYTES = 1 << 20

LETTER = "eA=="
"""One byte in base64: what a person types."""


def run(place: Place) -> list[Row]:
    """Ask both in turn."""
    samples: list[tuple[list[float], list[float]]] = [([], []) for _ in ROWS]
    with both(place) as servers:
        talks = [server.talk() for server in servers]
        for server in servers:
            server.file("large", READ_BYTES)
        for _ in place.effort.rounds(ROUNDS, SECONDS):
            for side, (server, talk) in enumerate(zip(servers, talks, strict=True)):
                for number, (_, _, _, measure) in enumerate(ROWS):
                    samples[number][side].append(measure(server, talk))
        for talk in talks:
            talk.close()
    return [Row(what, unit, *both_sides, aim) for (what, unit, aim, _), both_sides in zip(ROWS, samples, strict=True)]


def _metadata(server: ExecServer) -> tuple[str, object]:
    return "fs/getMetadata", {"path": server.cwd.as_uri()}


def _round_trip(server: ExecServer, talk: ExecTalk) -> float:
    request = _metadata(server)
    watch = Stopwatch()
    for _ in range(SINGLE):
        talk.call(*request)
    return watch.milliseconds() * 1000 / SINGLE


def _pipelined(server: ExecServer, talk: ExecTalk) -> float:
    windows = [talk.framed([_metadata(server)] * WINDOW) for _ in range(WINDOWS)]
    watch = Stopwatch()
    for frames in windows:
        talk.send(frames)
        talk.hear_answers(WINDOW)
    return WINDOW * WINDOWS * 1000 / watch.milliseconds()


def _processor_time(server: ExecServer, talk: ExecTalk) -> float:
    before = server.cpu_milliseconds()
    _pipelined(server, talk)
    return (server.cpu_milliseconds() - before) * 1000 / (WINDOW * WINDOWS)


def _echo(server: ExecServer, talk: ExecTalk) -> float:
    start = talk.process(["cat"], server.cwd, pipeStdin=True)
    talk.call(*start)
    watch = Stopwatch()
    for number in range(ECHOES):
        write = {"processId": talk.last_process, "chunk": LETTER, "writeId": f"w{number}"}
        talk.ask("process/write", write)
        talk.hear(lambda message: is_news(message, b"process/output"))
    took = watch.milliseconds()
    talk.call("process/terminate", {"processId": talk.last_process})
    talk.hear(lambda message: is_news(message, b"process/closed"))
    return took * 1000 / ECHOES


def _read_file(server: ExecServer, talk: ExecTalk) -> float:
    watch = Stopwatch()
    talk.call("fs/readFile", {"path": (server.cwd / "large").as_uri()})
    return READ_BYTES / 1000 / watch.milliseconds()


def _read_blocks(server: ExecServer, talk: ExecTalk) -> float:
    watch = Stopwatch()
    talk.call("fs/open", {"handleId": "h", "path": (server.cwd / "large").as_uri()})
    for offset in range(0, READ_BYTES, BLOCK_BYTES):
        talk.call("fs/readBlock", {"handleId": "h", "offset": offset, "len": BLOCK_BYTES})
    talk.call("fs/close", {"handleId": "h"})
    return READ_BYTES / 1000 / watch.milliseconds()


def _write_file(server: ExecServer, talk: ExecTalk) -> float:
    content = "A" * (WRITE_BYTES // 3 * 4)
    watch = Stopwatch()
    talk.call("fs/writeFile", {"path": (server.cwd / "written").as_uri(), "dataBase64": content})
    return WRITE_BYTES / 1000 / watch.milliseconds()


ROWS: list[tuple[str, Unit, Aim | None, Callable[[ExecServer, ExecTalk], float]]] = [
    ("exec: request, round trip", Unit.MICROSECONDS, Aim(times_theirs=2), _round_trip),
    ("exec: requests answered, pipelined (more is better)", Unit.PER_SECOND, Aim(at_least=25_000), _pipelined),
    ("… processor time of the server for each", Unit.MICROSECONDS, None, _processor_time),
    ("exec: a byte to stdin until it is echoed", Unit.MICROSECONDS, None, _echo),
    ("exec: read a file of 16 MiB (more is better)", Unit.MEGABYTES_PER_SECOND, None, _read_file),
    ("exec: read it in blocks of 1 MiB (more is better)", Unit.MEGABYTES_PER_SECOND, None, _read_blocks),
    ("exec: write a file of 8 MiB (more is better)", Unit.MEGABYTES_PER_SECOND, None, _write_file),
]
