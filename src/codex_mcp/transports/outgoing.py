"""Bytes on their way out through a pipe or a socket: collected for one pass of the event loop, then written together.

A streamed turn sends thousands of small frames; one write per pass is a tenth of the system calls, and the reader at
the other end wakes a tenth as often. What is queued counts against `drain()`, here as well as in the transport.
"""

from __future__ import annotations

import asyncio

from codex_mcp.base.futures import resolve
from codex_mcp.transports.hang_up import HangUpWatch


class OutgoingBytes(asyncio.BaseProtocol):
    """The protocol of a write pipe, and its queue."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.WriteTransport | None = None
        self._parts: list[bytes] = []
        self._held = 0
        self._lost = False
        self._gone: asyncio.Future[None] = self._loop.create_future()
        self._waiters: list[asyncio.Future[None]] = []

    @property
    def queued(self) -> int:
        """Bytes that nobody has read yet."""
        in_transport = self._transport.get_write_buffer_size() if self._transport is not None else 0
        return self._held + in_transport

    @property
    def lost(self) -> bool:
        """Nobody will ever read again."""
        return self._lost

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The pipe is open."""
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport
        # Every time the buffer falls to this mark, those who wait look again.
        transport.set_write_buffer_limits(high=0)

    def connection_lost(self, exc: Exception | None) -> None:
        """The reader is gone, or the pipe was closed."""
        self._lost = True
        resolve(self._gone, None)
        self._parts.clear()
        self._held = 0
        self.resume_writing()

    def pause_writing(self) -> None:
        """The pipe is full; what is written from now on waits in the transport."""

    def resume_writing(self) -> None:
        """The transport's buffer is empty again, or gone."""
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            resolve(waiter, None)

    def write(self, data: bytes) -> None:
        """Queue these bytes; they leave at the end of this pass of the loop."""
        if self._lost:
            return
        if not self._parts:
            self._loop.call_soon(self.flush)
        self._parts.append(data)
        self._held += len(data)

    def flush(self) -> None:
        """Hand everything to the transport now."""
        if self._transport is not None and self._parts:
            self._transport.write(b"".join(self._parts))
            self._parts.clear()
            self._held = 0

    async def drain(self, below: int) -> None:
        """Wait until fewer than `below` bytes are queued, or until nobody reads any longer."""
        while not self._lost and self.queued >= below:
            self.flush()
            if self.queued < below:
                return
            waiter = self._loop.create_future()
            self._waiters.append(waiter)
            await waiter

    async def until_lost(self) -> None:
        """Wait until nobody will ever read again."""
        await asyncio.wait([self._gone])

    async def aclose(self) -> None:
        """Write what is queued, as long as somebody reads, then close."""
        self.flush()
        await self.drain(below=1)
        if self._transport is not None:
            self._transport.close()


class OutgoingSocketBytes(OutgoingBytes):
    """The same for a socket, of which only the way out is ours."""

    def __init__(self, *, is_watched: bool = False) -> None:
        """`is_watched`: nothing is read from it elsewhere, so that its end has to be noticed here."""
        super().__init__()
        self._is_watched = is_watched
        self._watch: HangUpWatch | None = None

    def connection_lost(self, exc: Exception | None) -> None:
        """The reader is gone, or the socket was closed."""
        if self._watch is not None:
            self._watch.close()
        super().connection_lost(exc)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is open; what comes in is for somebody else."""
        assert isinstance(transport, asyncio.Transport)
        # Not now: the releases before Python 3.11.5 begin to read right after this, whatever was said here. What is
        # scheduled comes before anything is read.
        self._loop.call_soon(transport.pause_reading)
        if self._is_watched:
            self._watch = HangUpWatch(transport.get_extra_info("socket").fileno(), transport.abort)
        super().connection_made(transport)
