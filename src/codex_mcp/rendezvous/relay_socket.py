"""One WebSocket of an executor or a harness: frames wait in a bounded queue until the other end takes them."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from typing import Final

from codex_mcp.transports.http import CONNECTION, SEND_NOW, Connection, Scope, Send, SendNow

MAX_WAITING: Final = 16 * 1024 * 1024
"""Bytes for one socket. Executors of ours stop after 1 MiB without an acknowledgement; Codex 0.166.0 never stops."""

ENOUGH: Final = 1024 * 1024
"""Bytes for an executor above which its harnesses are not read."""

TOO_SLOW: Final = (1008, "this end does not read what it is sent")
SUPERSEDED: Final = (1008, "another connection has taken its place")
REVOKED: Final = (1008, "its token no longer allows this")
RESTARTING: Final = (1012, "the rendezvous stops")


class RelaySocket:
    def __init__(self, number: int, scope: Scope, send: Send, sent: Callable[[int], None]) -> None:
        """`sent` learns the size of each frame."""
        self.number = number
        self.is_closing = False
        self._send = send
        self._send_now: SendNow | None = scope.get(SEND_NOW)
        self._sent = sent
        self._connection: Connection | None = scope.get(CONNECTION)
        self._waiting: deque[bytes] = deque()
        self._bytes = 0
        self._close: tuple[int, str] | None = None
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()

    def put(self, frame: bytes) -> bool:
        """Send a frame, or queue it; False if the queue is full, and then it is not queued."""
        if self.is_closing:
            return True
        if not self._bytes and self._send_now is not None and self._send_now(frame):
            self._sent(len(frame))
            return True
        if self._bytes + len(frame) > MAX_WAITING:
            return False
        self._waiting.append(frame)
        self._bytes += len(frame)
        self._news.set()
        if self._bytes > ENOUGH:
            self._room.clear()
        return True

    async def has_room(self) -> None:
        """Wait until the other end has read enough, or is gone."""
        await self._room.wait()

    async def write(self) -> None:
        """Send what is queued until `close`, or until the other end is gone."""
        with contextlib.suppress(OSError):
            while self._close is None or self._waiting:
                while self._waiting:
                    frame = self._waiting.popleft()
                    await self._send({"type": "websocket.send", "bytes": frame})
                    self._sent(len(frame))
                    self._bytes -= len(frame)
                    if self._bytes <= ENOUGH:
                        self._room.set()
                if self._close is None:
                    self._news.clear()
                    await self._news.wait()
            code, reason = self._close
            await self._send({"type": "websocket.close", "code": code, "reason": reason})

    def close(self, why: tuple[int, str]) -> None:
        """Send what is queued, then close."""
        self.is_closing = True
        self._close = self._close or why
        self._room.set()
        self._news.set()

    def abort(self) -> None:
        """Close at once: the other end does not read."""
        self._waiting.clear()
        self._bytes = 0
        self.close(TOO_SLOW)
        if self._connection is not None:
            self._connection.abort()
