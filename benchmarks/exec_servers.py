"""The exec-servers that are compared: Codex's own, in its newest release, and ours."""

from __future__ import annotations

import select
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired
from types import TracebackType
from typing import Self

from benchmarks.exec_talk import ExecTalk
from benchmarks.lines import NoAnswer, Program
from benchmarks.memory import children_of, cpu_milliseconds, resident
from benchmarks.place import Place

PATIENCE = 30.0
"""Seconds until a server that should start or stop is taken for one that does not."""


class ExecServer:
    """One of them, running on a port of its choice; `with` ends it."""

    def __init__(self, program: Program) -> None:
        self.cwd = program.cwd
        self._process = Popen(
            program.argv, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL, env=dict(program.env), cwd=program.cwd
        )
        self.url = self._first_line()
        self._own = [self._process.pid, *children_of(self._process.pid)]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._process.terminate()
        try:
            self._process.wait(PATIENCE)
        except TimeoutExpired:
            self._process.kill()
        with self._process:
            pass

    def _first_line(self) -> str:
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], PATIENCE)
        line = self._process.stdout.readline().decode().strip() if ready else ""
        if not line.startswith("ws://"):
            self._process.kill()
            raise NoAnswer(f"cannot measure: {self._process.args!r} does not say where it listens")
        return line

    def talk(self, *, is_plain: bool = False) -> ExecTalk:
        """A new connection, in a session of its own."""
        return ExecTalk(self.url, is_plain=is_plain)

    def resident_mebibytes(self) -> float:
        """The memory of the server, its guard included, and without the processes that it runs for clients."""
        return resident(self._own)

    def cpu_milliseconds(self) -> float:
        """The processor time of all its threads; 0 where the system does not tell."""
        return sum(map(cpu_milliseconds, self._own))

    def file(self, name: str, size: int = 0) -> Path:
        """A file in its folder, of this size."""
        path = self.cwd / name
        path.write_bytes(bytes(size))
        return path


@contextmanager
def both(place: Place) -> Iterator[tuple[ExecServer, ExecServer]]:
    """Theirs and ours."""
    with ExecServer(place.exec_theirs()) as theirs, ExecServer(place.exec_ours()) as ours:
        yield theirs, ours
