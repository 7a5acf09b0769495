"""The user's terminal, files or pipes, as the standard streams of a remote process.

No descriptor is made non-blocking, because it may be shared with the shell that started us. Input is read when it is
available; output is written in a thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import termios
import tty
from collections.abc import AsyncIterator, Iterator
from typing import Final

from msgspec import Struct

from codex_mcp.base.blocking import in_thread

READ_BYTES: Final = 1 << 16
"""The capacity of a pipe on Linux."""


class StandardStreams(Struct, frozen=True):
    stdin: int = 0
    stdout: int = 1
    stderr: int = 2

    @property
    def is_terminal(self) -> bool:
        return os.isatty(self.stdin) and os.isatty(self.stdout)

    def size(self) -> os.terminal_size:
        return os.get_terminal_size(self.stdout)


@contextlib.contextmanager
def raw(fd: int) -> Iterator[None]:
    """Put a terminal into raw mode, so that every key is passed on, ^C included."""
    before = termios.tcgetattr(fd)
    tty.setraw(fd)
    try:
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)


async def read_input(fd: int) -> AsyncIterator[bytes]:
    while True:
        await _readable(fd)
        try:
            data = os.read(fd, READ_BYTES)
        except OSError:
            return  # the terminal was hung up
        if not data:
            return
        yield data


async def _readable(fd: int) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    try:
        loop.add_reader(fd, ready.set)
    except PermissionError:
        return  # a regular file: always readable, cannot be watched
    try:
        await ready.wait()
    finally:
        loop.remove_reader(fd)


async def write_output(fd: int, data: bytes) -> None:
    """Write everything without blocking the event loop. Raises BrokenPipeError if the reader is gone."""
    await in_thread(_write_all, fd, data)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
