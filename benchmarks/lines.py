"""A child process that speaks one JSON message per line, driven without an event loop: the least that is in the way.

Both sides of every comparison are driven by this same client.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen

import msgspec
from msgspec import Raw, Struct

from benchmarks.child import Child

PATIENCE = 60.0
"""Seconds without what we wait for until it is taken for a hang; the slowest answer takes a few."""

READ_BYTES = 1 << 18
"""More than a pipe holds."""


NOTHING = Raw()
"""A part that a message does not have."""


class Heard(Struct, frozen=True):
    """One message; its parts are read by those who need them."""

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
        process = Popen(
            program.argv,
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            env=dict(program.env),
            cwd=program.cwd,
            bufsize=0,
            start_new_session=True,
        )
        super().__init__(process)
        assert process.stdin is not None
        assert process.stdout is not None
        self._stdin, self._stdout = process.stdin.fileno(), process.stdout.fileno()
        os.set_blocking(self._stdin, False)
        self._poll = select.poll()

    def kill(self) -> None:
        """End it now, with all that it started."""
        os.killpg(self.pid, signal.SIGKILL)

    def send(self, data: bytes) -> None:
        """Write whole lines; what the pipe does not take now is written while we listen."""
        self._unsent += data
        self._write()

    def hear(self, wanted: Callable[[Heard], bool]) -> Heard:
        """Return the next message that is wanted; the others are counted and forgotten."""
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
