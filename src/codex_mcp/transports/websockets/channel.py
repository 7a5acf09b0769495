"""A WebSocket whose messages a task receives and sends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from codex_mcp.base.futures import Waiters
from codex_mcp.rpc.channel import FrameKind, Receiving
from codex_mcp.rpc.inbox import Inbox
from codex_mcp.transports.websockets.socket import QUEUE_HIGH, Socket
from codex_mcp.wire.jsonrpc import Id

ROOM: Final = (1, 0)
"""For the rules of its socket: `drain` looks again when everything is sent."""


class SocketChannel(Receiving):
    """The listener of a socket, as a `Channel`."""

    def __init__(self, socket: Socket, high: int = QUEUE_HIGH) -> None:
        """Above `high` bytes that were not received, the socket is not read."""
        self._socket = socket
        self._inbox = Inbox(high, socket.pause_reading, socket.resume_reading)
        self._writable = Waiters()
        self._is_lost = False

    def frame_received(self, frame: bytes) -> None:
        self._inbox.add((frame,))

    def pause_writing(self) -> None:
        """The socket is full; `drain` notices."""

    def resume_writing(self) -> None:
        self._writable.tell()

    def connection_lost(self) -> None:
        self._is_lost = True
        self._inbox.end()
        self._writable.tell()

    async def receive(self) -> Sequence[bytes]:
        return await self._inbox.take()

    def send(self, frame: bytes, about: Id | None = None, kind: FrameKind = FrameKind.NOTIFICATION) -> None:
        self._socket.send(frame)

    @property
    def lost(self) -> bool:
        return self._is_lost

    async def until_lost(self) -> None:
        while not self._is_lost:
            await self._writable.wait()

    def abort(self) -> None:
        self._socket.abort()

    @property
    def unsent(self) -> int:
        """Bytes that wait to be sent."""
        return 0 if self._is_lost else self._socket.unsent

    async def drain(self, below: int) -> None:
        while not self._is_lost and self.unsent >= below:
            await self._writable.wait()

    async def aclose(self) -> None:
        """Send what is queued, then close without waiting for the other end."""
        self._socket.close()
        self._socket.drop()
        while not self._is_lost:
            await self._writable.wait()
