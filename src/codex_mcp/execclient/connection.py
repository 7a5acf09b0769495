"""How to reach a server (`Route`), and one connection to it: a channel, its JSON-RPC peer and the handshake."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Final, TypeAlias, TypeVar
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from codex_mcp.execclient.errors import CannotConnect, ExecServerError, PathNotFound, RequestRefused
from codex_mcp.execclient.flow import Flow
from codex_mcp.execclient.options import ExecServerClientConnectOptions
from codex_mcp.rpc.channel import Channel
from codex_mcp.rpc.errors import RequestFailed, request_failed
from codex_mcp.rpc.peer import Handlers, NotificationHandler, Peer, PendingCall
from codex_mcp.rpc.watched import watched
from codex_mcp.transports.websockets.dialled import HandshakeRefused, dial
from codex_mcp.wire.exec.protocol import NOT_FOUND, EnvironmentInfo, Initialize, Initialized, Shell
from codex_mcp.wire.jsonrpc import METHOD_NOT_FOUND, Request

Answer = TypeVar("Answer")

Dial: TypeAlias = Callable[[], Awaitable[Channel]]

MAX_SERVER_REQUESTS: Final = 256
"""Requests that the server may have open; the real server's maximum."""

OUTGOING_BYTES: Final = 8 << 20
"""Unsent bytes above which a call waits before it is written: a few blocks of a file, not all of it."""


class Route(Struct, frozen=True):
    """How to open a channel to a server, and whether it can be opened again after a loss."""

    dial: Dial
    can_resume: bool = True


def route_to(url: str, options: ExecServerClientConnectOptions) -> Route:
    """The route to a ws:// or wss:// URL, or through a rendezvous (relay+https://HOST/ENVIRONMENT)."""
    if url.startswith("relay+"):
        from codex_mcp.execclient.relay_route import RelayAddress  # noqa: PLC0415  its cryptography takes long to load

        return Route(RelayAddress(url, options.bearer_token, options.pin).dial)
    if not _is_address(url):
        raise CannotConnect(f"cannot connect to {url!r}: an exec-server's address looks like ws://127.0.0.1:4512")
    headers = {"Authorization": f"Bearer {options.bearer_token}"} if options.bearer_token else {}

    async def dial_websocket() -> Channel:
        try:
            return await dial(url, headers, options.connect_timeout)
        except ValueError as exc:
            raise CannotConnect(str(exc)) from exc
        except HandshakeRefused as exc:
            if exc.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                raise ConnectionError(f"the server is not ready: {exc}") from exc
            raise CannotConnect(f"cannot connect to {url}: the server refused with {exc}") from exc

    return Route(dial_websocket)


def _is_address(url: str) -> bool:
    try:
        return url.startswith(("ws://", "wss://")) and urlsplit(url).port != 0
    except ValueError:
        return False  # a port out of range, or an incomplete IPv6 address


class Connection:
    """Calls over one channel. They raise ConnectionLost (rpc) when the channel is gone."""

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
        try:
            await self._peer.run()
        except OSError as exc:
            return str(exc)
        finally:
            self.is_alive = False
        return "the server closed it"

    async def initialize(self, client_name: str, session_id: str | None) -> Initialized:
        answer = await self.call("initialize", Initialize(client_name, session_id), Initialized)
        self._peer.notify("initialized", {})
        return answer

    async def environment(self) -> EnvironmentInfo:
        """For older servers, which do not send it in the handshake."""
        try:
            return await self.call("environment/info", {}, EnvironmentInfo)
        except RequestRefused:
            return EnvironmentInfo(Shell("sh", "/bin/sh"))

    async def call(self, method: str, params: object, answer_type: type[Answer]) -> Answer:
        """Raises RequestRefused or ConnectionLost."""
        return await self.answer(method, self._peer.start(method, params), answer_type)

    async def drain(self) -> None:
        """Wait until there is room for one more request, or the connection is gone."""
        await self._channel.drain(OUTGOING_BYTES)

    def start(self, method: str, params: object) -> PendingCall:
        """Send a request without waiting; `answer()` waits for the answer."""
        return self._peer.start(method, params)

    async def answer(self, method: str, pending: PendingCall, answer_type: type[Answer]) -> Answer:
        """Raises RequestRefused or ConnectionLost."""
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
        self._peer.forget(pending)

    async def aclose(self) -> None:
        self.is_alive = False
        await self._peer.aclose()


def _request_received(request: Request) -> asyncio.Future[object]:
    raise request_failed(METHOD_NOT_FOUND, f"this client does not support {request.method}")
