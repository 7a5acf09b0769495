"""The stdin of a process: writes are queued in order, up to a limit, and passed on as the process reads."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from contextlib import suppress
from typing import Final

from codex_mcp.base.futures import resolve

QUEUE: Final = 128
"""Chunks accepted before the process reads them; further writes are answered when there is room."""

WAITING: Final = 256
"""Writes that may wait for room; beyond that they are refused."""

END_OF_TRANSMISSION: Final = b"\x04"
"""End of input on a terminal, at the start of a line."""


class StdinFull(Exception):
    """The process does not read its stdin, and too many writes are waiting."""


class Stdin:
    def __init__(self, fd: int, *, is_terminal: bool) -> None:
        self._fd = fd
        self._is_terminal = is_terminal
        self._loop = asyncio.get_running_loop()
        self._queue: deque[tuple[memoryview, asyncio.Future[None] | None]] = deque()
        self._ends = False
        self.is_closed = False

    def write(self, data: bytes) -> asyncio.Future[None] | None:
        """Queue these bytes. If there is no room, the returned future is done when there is. Raises StdinFull."""
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
        """Whether the client has closed it. A terminal's stdin is never closed this way."""
        return self._ends

    def end(self) -> None:
        """Close after the queued bytes; a terminal gets an end-of-transmission character instead."""
        if self.is_closed or self._ends:
            return
        if self._is_terminal:
            self.write(END_OF_TRANSMISSION)
        else:
            self._ends = True
            if not self._queue:
                self.close()

    def close(self) -> None:
        """Close now and discard the queue. May be called twice."""
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
            # The reading end is closed. Writes are still accepted, as in the real server.
            with suppress(OSError):
                self.close()
