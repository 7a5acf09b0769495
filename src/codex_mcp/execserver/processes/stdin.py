"""What clients write to a process: queued in order, handed over as the process reads, never more than so much."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from contextlib import suppress
from typing import Final

from codex_mcp.base.futures import resolve

QUEUE: Final = 128
"""Chunks that are accepted before the process reads them; further writes are answered when there is room."""

WAITING: Final = 256
"""Writes that may wait for room; beyond that a client writes without listening, and is told so."""

END_OF_TRANSMISSION: Final = b"\x04"
"""What a terminal takes for the end of the input, at the start of a line."""


class StdinFull(Exception):
    """The process does not read, and too many writes wait already."""


class Stdin:
    """The writing end of a process's input."""

    def __init__(self, fd: int, *, is_terminal: bool) -> None:
        self._fd = fd
        self._is_terminal = is_terminal
        self._loop = asyncio.get_running_loop()
        self._queue: deque[tuple[memoryview, asyncio.Future[None] | None]] = deque()
        self._ends = False
        self.is_closed = False

    def write(self, data: bytes) -> asyncio.Future[None] | None:
        """Queue these bytes. If there was no room, a future says when there is. Raises StdinFull."""
        if self.is_closed or self._ends or not data:
            return None
        if len(self._queue) >= QUEUE + WAITING:
            raise StdinFull
        room = self._loop.create_future() if len(self._queue) >= QUEUE else None
        self._queue.append((memoryview(data), room))
        if len(self._queue) == 1:
            self._push()
            if self._queue:
                self._loop.add_writer(self._fd, self._writable)
        return room

    @property
    def was_ended(self) -> bool:
        """The client has closed it; what a terminal is told does not count."""
        return self._ends

    def end(self) -> None:
        """Close after what is queued; a terminal is told that the input ends."""
        if self.is_closed or self._ends:
            return
        if self._is_terminal:
            self.write(END_OF_TRANSMISSION)
        else:
            self._ends = True
            if not self._queue:
                self.close()

    def close(self) -> None:
        """Close now; what is queued is lost. Twice is fine."""
        if self.is_closed:
            return
        self.is_closed = True
        self._loop.remove_writer(self._fd)
        os.close(self._fd)
        for _, room in self._queue:
            resolve(room, None)
        self._queue.clear()

    def _writable(self) -> None:
        self._push()
        if not self._queue and not self.is_closed:
            self._loop.remove_writer(self._fd)
            if self._ends:
                self.close()

    def _push(self) -> None:
        """Write as much as the process takes now."""
        try:
            while self._queue:
                data, _ = self._queue[0]
                written = os.write(self._fd, data)
                if written < len(data):
                    self._queue[0] = (data[written:], None)
                    return
                self._queue.popleft()
                if len(self._queue) >= QUEUE:
                    resolve(self._queue[QUEUE - 1][1], None)
        except BlockingIOError:
            return
        except OSError:
            # Nobody reads any longer. Writes go on being accepted, as the real server does it.
            with suppress(OSError):
                self.close()
