"""A loopback WebSocket for Codex that leads to an executor behind a rendezvous: Codex itself only dials WebSockets.

Only whoever has the bridge's token may connect, and it is given to one Codex. Each of its connections becomes a stream;
when the stream ends, the connection does too, and Codex resumes its session over the next one.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import secrets
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

from codex_mcp.base.tasks import TaskSet
from codex_mcp.execclient.connection import OUTGOING_BYTES, Dial
from codex_mcp.execclient.errors import ExecServerError
from codex_mcp.rpc.channel import Channel
from codex_mcp.transports.websocket import AcceptedSocket, Endpoint, listen

logger = logging.getLogger(__name__)

MAX_WAITING: Final = 128
"""Messages of Codex that wait for the executor; beyond that, Codex is not read."""

MAX_CONNECTIONS: Final = 16
"""Of one Codex, which needs one, and another one while it recovers."""


class Bridge:
    """An async context manager; `url` and `token` are for Codex."""

    def __init__(self, dial: Dial) -> None:
        self.url = ""
        self.token = secrets.token_urlsafe(32)
        self._dial = dial
        self._server: asyncio.Server | None = None
        self._open: set[_Bridged] = set()

    async def __aenter__(self) -> Self:
        endpoint = Endpoint(self._accept, self._refusal, lambda: len(self._open) >= MAX_CONNECTIONS)
        self._server = await listen("127.0.0.1", 0, endpoint)
        self.url = f"ws://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()
        for bridged in list(self._open):
            await bridged.aclose()

    def _refusal(self, header: str | None) -> str | None:
        expected = f"Bearer {self.token}".encode()
        return None if hmac.compare_digest((header or "").encode(), expected) else "invalid token"

    def _accept(self, socket: AcceptedSocket) -> _Bridged:
        bridged = _Bridged(socket, self._dial, self._open.discard)
        self._open.add(bridged)
        return bridged


class _Bridged:
    """One connection of Codex and its stream."""

    def __init__(self, socket: AcceptedSocket, dial: Dial, gone: Callable[[_Bridged], None]) -> None:
        self._socket = socket
        self._dial = dial
        self._gone = gone
        self._waiting: deque[bytes] = deque()
        self._news = asyncio.Event()
        self._may_write = asyncio.Event()
        self._may_write.set()
        self._tasks = TaskSet()
        self._running = self._tasks.spawn(self._run(), name="bridge to the rendezvous")

    def frame_received(self, frame: bytes) -> None:
        self._waiting.append(frame)
        self._news.set()
        if len(self._waiting) >= MAX_WAITING:
            self._socket.pause_reading()

    def pause_writing(self) -> None:
        self._may_write.clear()

    def resume_writing(self) -> None:
        self._may_write.set()

    def connection_lost(self) -> None:
        self._gone(self)
        self._running.cancel()

    async def aclose(self) -> None:
        self._socket.drop()
        await self._tasks.aclose()

    async def _run(self) -> None:
        try:
            channel = await self._dial()
        except (OSError, ExecServerError) as exc:
            logger.warning("cannot reach the executor: %s", exc)
            self._socket.drop()
            return
        sending = self._tasks.spawn(self._forward(channel), name="bridge to the executor")
        try:
            while messages := await channel.receive():
                for message in messages:
                    await self._may_write.wait()
                    if isinstance(message, bytes):  # a stream carries nothing else
                        self._socket.send(message)
        finally:
            sending.cancel()
            self._socket.drop()
            await channel.aclose()

    async def _forward(self, channel: Channel) -> None:
        while True:
            while self._waiting:
                await channel.drain(OUTGOING_BYTES)
                channel.send(self._waiting.popleft())
                if len(self._waiting) == MAX_WAITING // 2:
                    self._socket.resume_reading()
            self._news.clear()
            await self._news.wait()
