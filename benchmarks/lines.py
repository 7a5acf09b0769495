"""A child process that speaks one JSON message per line, driven without an event loop to add as little as possible.

This client drives both sides of every comparison.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL

import msgspec
from msgspec import Raw, Struct

from benchmarks.child import Child

PATIENCE = 60.0
"""Seconds without the expected message after which the program counts as hung; the slowest answer takes a few."""

READ_BYTES = 1 << 18
"""More than a pipe holds."""


NOTHING = Raw()
"""A part that a message does not have."""


class Heard(Struct, frozen=True):
    """One message, with its parts undecoded."""

    id: int | str | None = None
    method: str | None = None
    params: Raw = Raw(b"{}")
    result: Raw = NOTHING
    error: Raw = NOTHING

    @property
    def is_answer(self) -> bool:
        """It answers a request of ours."""
        return self.method is None


class NoAnswer(Exception):
    """The program under test hangs, ended, or refused."""


@dataclass(frozen=True, slots=True)
class Program:
    """What to start."""

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: Path


_heard = msgspec.json.Decoder(Heard)


class LineProcess(Child):
    """`with LineProcess(program) as process:` ends it."""

    def __init__(self, program: Program) -> None:
        self.bytes_heard = 0
        self.messages_heard = 0
        self._unsent = b""
        self._partial = b""
        self._waiting: list[bytes] = []
        super().__init__(program.argv, program.cwd, program.env, DEVNULL)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._stdin, False)
        self._poll = select.poll()

    def send(self, data: bytes) -> None:
        """Write whole lines; what the pipe does not take now is written while we listen."""
        self._unsent += data
        self._write()

    def hear(self, wanted: Callable[[Heard], bool]) -> Heard:
        """Return the next message that is wanted; others are only counted."""
        deadline = time.monotonic() + PATIENCE
        while True:
            while self._waiting:
                line = self._waiting.pop()
                self.bytes_heard += len(line) + 1
                self.messages_heard += 1
                heard = _heard.decode(line)
                if heard.error:
                    raise NoAnswer(f"cannot go on: the program refused: {bytes(heard.error).decode()}")
                if wanted(heard):
                    return heard
            self._read(deadline)

    def _write(self) -> None:
        if self._unsent:
            try:
                self._unsent = self._unsent[os.write(self._stdin, self._unsent) :]
            except BlockingIOError:
                return

    def _read(self, deadline: float) -> None:
        self._poll.register(self._stdout, select.POLLIN)
        if self._unsent:
            self._poll.register(self._stdin, select.POLLOUT)
        ready = dict(self._poll.poll(max(0.0, deadline - time.monotonic()) * 1000))
        if not ready:
            raise NoAnswer(f"cannot go on: nothing came within {PATIENCE:g} seconds")
        if self._stdin in ready:
            self._write()
            if not self._unsent:
                self._poll.unregister(self._stdin)
        if self._stdout in ready:
            data = os.read(self._stdout, READ_BYTES)
            if not data:
                raise NoAnswer("cannot go on: the program has ended")
            *lines, self._partial = (self._partial + data).split(b"\n")
            # Last first, so that the next one can be taken off the end.
            self._waiting = [line for line in reversed(lines) if line]
