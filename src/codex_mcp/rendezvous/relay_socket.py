"""One WebSocket of an executor or a harness: what it sends goes on at once, what it is sent waits within bounds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from codex_mcp.base.futures import resolve
from codex_mcp.transports.websockets.socket import Socket

MAX_WAITING: Final = 16 * 1024 * 1024
"""Bytes for one socket. Executors of ours stop after 1 MiB without an acknowledgement; Codex 0.166.0 never stops."""

ENOUGH: Final = 1024 * 1024
"""Bytes for an executor above which its harnesses are not read."""

TOO_SLOW: Final = (1008, "this end does not read what it is sent")
SUPERSEDED: Final = (1008, "another connection has taken its place")
REVOKED: Final = (1008, "its token no longer allows this")
REFUSED: Final = (1008, "the executor refused too many handshakes of this connection")
RESTARTING: Final = (1012, "the rendezvous stops")


class RelaySocket:
    def __init__(self, number: int, socket: Socket) -> None:
        self.number = number
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._socket = socket
        self._received: Callable[[bytes], None] | None = None
        self._is_closing = False
        self._has_room = True
        self._senders: dict[RelaySocket, None] = {}
        """Are not read until there is room."""

    def begin(self, received: Callable[[bytes], None]) -> None:
        """What comes from now on goes there. Nobody may send before."""
        self._received = received

    def frame_received(self, frame: bytes) -> None:
        if self._received is not None:
            self._received(frame)

    def pause_writing(self) -> None:
        self._has_room = False

    def resume_writing(self) -> None:
        self._has_room = True
        senders, self._senders = self._senders, {}
        for sender in senders:
            sender._socket.resume_reading()

    def connection_lost(self) -> None:
        resolve(self.ended, None)

    def put(self, frame: bytes) -> bool:
        """Send a frame; False if too many wait, and then it is not sent."""
        if self._is_closing:
            return True
        if self._socket.unsent + len(frame) > MAX_WAITING or not self._socket.has_room_for(len(frame)):
            return False
        self._socket.send(frame)
        return True

    @property
    def is_full(self) -> bool:
        return not self._has_room and not self._is_closing

    def slow_down(self, sender: RelaySocket) -> None:
        """Do not read from this one while there is no room."""
        if self.is_full and sender not in self._senders:
            sender._socket.pause_reading()
            self._senders[sender] = None

    def close(self, why: tuple[int, str]) -> None:
        """Send what is queued, then close."""
        self._is_closing = True
        self._socket.close(*why)
        self.resume_writing()

    def abort(self) -> None:
        """Close at once: the other end does not read."""
        self.close(TOO_SLOW)
        self._socket.abort()
