"""Our own terminal, files or pipes, on behalf of a process somewhere else.

Nothing here makes a descriptor non-blocking: it may be shared with the shell that started us, which would suffer. Input
is read when there is some, output is written by a thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import termios
import tty
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Final

READ_BYTES: Final = 1 << 16
"""What a pipe holds on Linux."""


@dataclass(frozen=True, slots=True)
class Streams:
    """The three descriptors."""

    stdin: int = 0
    stdout: int = 1
    stderr: int = 2

    @property
    def is_terminal(self) -> bool:
        """A person sits at both ends."""
        return os.isatty(self.stdin) and os.isatty(self.stdout)

    def size(self) -> os.terminal_size:
        """How large the terminal is."""
        return os.get_terminal_size(self.stdout)


@contextlib.contextmanager
def raw(fd: int) -> Iterator[None]:
    """Hand every key on as it is, ^C too, until the end."""
    before = termios.tcgetattr(fd)
    tty.setraw(fd)
    try:
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)


async def read_input(fd: int) -> AsyncIterator[bytes]:
    """What comes in, piece by piece, to its end."""
    while True:
        await _readable(fd)
        try:
            data = os.read(fd, READ_BYTES)
        except OSError:
            return  # a terminal that was hung up says so in this way
        if not data:
            return
        yield data


async def _readable(fd: int) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    try:
        loop.add_reader(fd, ready.set)
    except PermissionError:
        return  # a file: it cannot be watched, and need not be
    try:
        await ready.wait()
    finally:
        loop.remove_reader(fd)


async def write_output(fd: int, data: bytes) -> None:
    """Write all of it; the loop goes on meanwhile. Raises BrokenPipeError if nobody reads."""
    await asyncio.to_thread(_write_all, fd, data)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
