"""One generation: a channel to the server, its JSON-RPC conversation, and the handshake."""

from __future__ import annotations

import asyncio
import logging
from typing import Final, TypeVar

import msgspec

from codex_mcp.execclient.errors import ExecServerError, PathNotFound, RequestRefused
from codex_mcp.execclient.flow import Flow
from codex_mcp.rpc.channel import Channel
from codex_mcp.rpc.errors import RequestFailed, request_failed
from codex_mcp.rpc.peer import Handlers, NotificationHandler, Peer, PendingCall
from codex_mcp.rpc.watched import watched
from codex_mcp.wire.exec.protocol import NOT_FOUND, EnvironmentInfo, Initialize, Initialized, Shell
from codex_mcp.wire.jsonrpc import METHOD_NOT_FOUND, Request

logger = logging.getLogger(__name__)

Answer = TypeVar("Answer")

MAX_SERVER_REQUESTS: Final = 256
"""Questions that a server may have open: as many as the real one asks at most."""

OUTGOING_BYTES: Final = 8 << 20
"""Unsent bytes beyond which a call waits before it is written: room for some blocks of a file, not for all of it."""


class Connection:
    """Calls over one channel. Raises ConnectionLost (rpc) when that is gone; who calls knows what it means."""

    def __init__(self, generation: int, channel: Channel, on_notification: NotificationHandler, flow: Flow) -> None:
        self.generation = generation
        self.is_alive = True
        self._channel = channel
        self._flow = flow
        self._peer = Peer(
            watched(channel, "exec-server"),
            Handlers(_request_received, on_notification),
            max_requests=MAX_SERVER_REQUESTS,
            pace=flow.pace,
            version_required=False,
        )

    async def listen(self) -> str:
        """Hear what comes until the connection is gone; return why it went, as far as one knows."""
        try:
            await self._peer.run()
        except OSError as exc:
            return str(exc)
        finally:
            self.is_alive = False
        return "the server closed it"

    async def initialize(self, client_name: str, session_id: str | None) -> Initialized:
        """Shake hands, for a new session or for one that we had."""
        answer = await self.call("initialize", Initialize(client_name, session_id), Initialized)
        self._peer.notify("initialized", {})
        return answer

    async def environment(self) -> EnvironmentInfo:
        """Ask for what older servers leave out of the handshake."""
        try:
            return await self.call("environment/info", {}, EnvironmentInfo)
        except RequestRefused:
            return EnvironmentInfo(Shell("sh", "/bin/sh"))

    async def call(self, method: str, params: object, answer_type: type[Answer]) -> Answer:
        """Ask, and wait for the answer. Raises RequestRefused or ConnectionLost."""
        return await self.answer(method, self._peer.start(method, params), answer_type)

    async def drain(self) -> None:
        """Wait until there is room for one more request, or until the connection is gone."""
        await self._channel.drain(OUTGOING_BYTES)

    def start(self, method: str, params: object) -> PendingCall:
        """Ask now; `answer()` waits. For several requests on their way at once."""
        return self._peer.start(method, params)

    async def answer(self, method: str, pending: PendingCall, answer_type: type[Answer]) -> Answer:
        """Wait for an answer."""
        with self._flow.waiting():
            try:
                raw = await pending.answer
            except RequestFailed as exc:
                kind = PathNotFound if exc.error.code == NOT_FOUND else RequestRefused
                raise kind(method, exc.error.code, exc.error.message) from exc
            finally:
                self._peer.forget(pending)
        try:
            return msgspec.json.decode(raw, type=answer_type)
        except msgspec.MsgspecError as exc:
            raise ExecServerError(f"cannot read the exec-server's answer to {method}: {exc}") from exc

    def forget(self, pending: PendingCall) -> None:
        """Nobody waits for this answer any longer."""
        self._peer.forget(pending)

    async def aclose(self) -> None:
        """Hang up."""
        self.is_alive = False
        await self._peer.aclose()


def _request_received(request: Request) -> asyncio.Future[object]:
    raise request_failed(METHOD_NOT_FOUND, f"{request.method} is not offered here")
