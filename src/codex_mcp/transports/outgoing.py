"""Writes to a pipe or a socket: bytes are collected during one pass of the event loop, then written together.

A streamed turn sends thousands of small frames. One write per pass needs a tenth of the system calls, and wakes the
reader at the other end a tenth as often. `drain()` counts bytes queued here and in the transport.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import select
import sys
import termios
from collections.abc import Callable
from typing import Final, cast

from codex_mcp.base.futures import Waiters, resolve

INT_BYTES: Final = 4
"""The size of the number that FIONREAD returns."""


class OutgoingBytes(asyncio.BaseProtocol):
    """The protocol of a write pipe, and its queue."""

    def __init__(self, pipe: int | None = None) -> None:
        """`pipe` is the descriptor that is written, if it is a pipe."""
        self._pipe = pipe
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.WriteTransport | None = None
        self._parts: list[bytes] = []
        self._held = 0
        self.lost = False
        self._gone: asyncio.Future[None] = self._loop.create_future()
        self._empty = Waiters()

    @property
    def queued(self) -> int:
        in_transport = self._transport.get_write_buffer_size() if self._transport is not None else 0
        return self._held + in_transport

    @property
    def unread(self) -> int:
        """Bytes that the reader is known not to have read: those queued here, and those in the pipe."""
        if self._pipe is None or self.lost:
            return self.queued
        waiting = bytearray(INT_BYTES)
        try:
            fcntl.ioctl(self._pipe, termios.FIONREAD, waiting)
        except OSError:
            return self.queued
        return self.queued + int.from_bytes(waiting, sys.byteorder)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.WriteTransport", transport)  # those of uvloop inherit from none of asyncio
        # `drain` checks again each time the buffer falls to this mark.
        self._transport.set_write_buffer_limits(high=0)

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True
        resolve(self._gone, None)
        self._parts.clear()
        self._held = 0
        self._empty.tell()

    def pause_writing(self) -> None:
        """The pipe is full; further writes wait in the transport."""

    def resume_writing(self) -> None:
        """The transport's buffer is empty."""
        self._empty.tell()

    def write(self, data: bytes) -> None:
        """Queue these bytes; they are written at the end of this pass of the loop."""
        if self.lost:
            return
        if not self._parts:
            self._loop.call_soon(self.flush)
        self._parts.append(data)
        self._held += len(data)

    def flush(self) -> None:
        """Pass everything to the transport now."""
        if self._transport is not None and self._parts:
            self._transport.write(b"".join(self._parts))
            self._parts.clear()
            self._held = 0

    async def drain(self, below: int) -> None:
        """Wait until fewer than `below` bytes are queued, or the reader is gone."""
        while not self.lost and self.queued >= below:
            self.flush()
            if self.queued < below:
                return
            await self._empty.wait()

    async def until_lost(self) -> None:
        await asyncio.wait([self._gone])

    async def aclose(self) -> None:
        """Write what is queued while the reader is there, then close."""
        self.flush()
        await self.drain(below=1)
        if self._transport is not None:
            self._transport.close()


class HangUpWatch:
    """Calls `gone` once when the other end is closed. One that has only closed its sending side is still there."""

    def __init__(self, descriptor: int, gone: Callable[[], None]) -> None:
        self._gone = gone
        self._loop = asyncio.get_running_loop()
        self._descriptor = os.dup(descriptor)  # the transport owns the original
        self._loop.add_reader(self._descriptor, self._look)

    def _look(self) -> None:
        poll = select.poll()
        poll.register(self._descriptor, 0)  # a hang-up is always reported
        is_gone = any(events & (select.POLLHUP | select.POLLERR) for _, events in poll.poll(0))
        self.close()  # otherwise it is half-closed or sends data: only a write can tell more
        if is_gone:
            self._gone()

    def close(self) -> None:
        if self._descriptor >= 0:
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1


class OutgoingSocketBytes(OutgoingBytes):
    """The same for a socket that is only written here."""

    def __init__(self, *, is_watched: bool = False) -> None:
        """`is_watched`: the socket is not read elsewhere either, so its end must be noticed here."""
        super().__init__()
        self._is_watched = is_watched
        self._watch: HangUpWatch | None = None

    def connection_lost(self, exc: Exception | None) -> None:
        if self._watch is not None:
            self._watch.close()
        super().connection_lost(exc)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Never read from the socket."""
        assert isinstance(transport, asyncio.Transport)
        # Not now: Python before 3.11.5 starts reading right after this call anyway. A scheduled call runs before
        # anything is read.
        self._loop.call_soon(transport.pause_reading)
        if self._is_watched:
            self._watch = HangUpWatch(transport.get_extra_info("socket").fileno(), transport.abort)
        super().connection_made(transport)
