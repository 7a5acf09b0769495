"""WebSocket connections that we open, as a Channel."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Final, cast

from websockets.client import ClientProtocol
from websockets.exceptions import InvalidStatus, InvalidURI
from websockets.http11 import Request, Response
from websockets.protocol import State
from websockets.uri import parse_uri

from codex_mcp.base.futures import resolve
from codex_mcp.base.printable import foreign
from codex_mcp.transports.websockets.channel import ROOM, SocketChannel
from codex_mcp.transports.websockets.socket import PING_INTERVAL, QUIET, Socket, SocketRules

DIALLED_FRAME_BYTES: Final = 128 * 1024 * 1024
"""Codex's own server sends frames of up to 84 MB."""

DIALLED_MESSAGE_BYTES: Final = 2 * DIALLED_FRAME_BYTES
"""Of a message in any number of frames, with what they cost in memory."""

QUICK_ACKNOWLEDGEMENT: Final[int] = getattr(socket, "TCP_QUICKACK", 0)
"""Linux only; 0 elsewhere, and then not used."""

PONG_PATIENCE: Final = 30.0
"""Seconds, for a socket to a relay: a dead one is noticed after a minute, as in Codex."""


class DialledSocket(SocketChannel):
    def __init__(self, dialled: Socket, tcp: socket.socket | None) -> None:
        """With `tcp`, what comes is acknowledged at once."""
        super().__init__(dialled)
        self._tcp = tcp

    async def receive(self) -> Sequence[bytes]:
        messages = await super().receive()
        if self._tcp is not None and not self._is_lost:
            # Codex's server sends no further small message before, which costs 40 ms each time. The kernel resets the
            # option, so it is set after every read.
            with suppress(OSError):
                self._tcp.setsockopt(socket.IPPROTO_TCP, QUICK_ACKNOWLEDGEMENT, 1)
        return messages


class HandshakeRefused(Exception):
    """The other side answered, but not with a WebSocket."""

    def __init__(self, status: HTTPStatus, body: bytes) -> None:
        text = foreign(body.decode(errors="replace").strip())
        super().__init__(f"{status.value} {status.phrase}" + (f": {text}" if text else ""))
        self.status = status
        self.body = body


class _Handshake(asyncio.Protocol):
    """Sends our request, and waits for the answer."""

    def __init__(self, library: ClientProtocol, request: Request) -> None:
        self._library = library
        self._request = request
        self.answered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.has_come = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._library.send_request(self._request)
        cast("asyncio.Transport", transport).writelines(self._library.data_to_send())

    def data_received(self, data: bytes) -> None:
        self.has_come = True
        self._library.receive_data(data)
        if self._library.state is not State.CONNECTING or self._library.handshake_exc is not None:
            resolve(self.answered, None)

    def connection_lost(self, exc: Exception | None) -> None:
        self._library.receive_eof()
        resolve(self.answered, None)


async def dial(
    url: str, headers: Mapping[str, str], timeout: float, *, is_relay: bool = False, over: socket.socket | None = None
) -> DialledSocket:
    """Open a WebSocket; one to a relay carries binary messages and is pinged. Raises OSError, HandshakeRefused.

    `over`: a unix socket that is connected already, and belongs to the WebSocket from now on. It is not pinged.
    """
    try:
        uri = parse_uri(url)
    except InvalidURI as exc:
        raise ValueError(f"cannot dial {url}: not a WebSocket URL") from exc
    rules = SocketRules(
        is_binary=is_relay,
        room=ROOM,
        ping_interval=PING_INTERVAL if is_relay else None,
        pong_patience=PONG_PATIENCE,
        message_bytes=DIALLED_MESSAGE_BYTES,
    )
    library = ClientProtocol(uri, max_size=(rules.message_bytes, DIALLED_FRAME_BYTES), logger=QUIET)
    request = library.connect()
    request.headers.update(headers)
    tls = ssl.create_default_context() if uri.secure else None
    async with asyncio.timeout(timeout):
        where: dict[str, Any] = {"host": uri.host, "port": uri.port} if over is None else {"sock": over}
        transport, handshake = await asyncio.get_running_loop().create_connection(
            lambda: _Handshake(library, request), ssl=tls, **where
        )
        try:
            await handshake.answered
        except BaseException:
            transport.abort()
            raise
    if library.state is State.CONNECTING or library.handshake_exc is not None:
        transport.abort()
        raise _refusal(url, library, has_come=handshake.has_come)
    dialled = Socket(library, rules)
    tcp = transport.get_extra_info("socket") if QUICK_ACKNOWLEDGEMENT and not is_relay and over is None else None
    channel = DialledSocket(dialled, tcp)
    dialled.start(transport, channel, b"")
    return channel


def _refusal(url: str, library: ClientProtocol, *, has_come: bool) -> Exception:
    why = library.handshake_exc
    if isinstance(why, InvalidStatus):
        return HandshakeRefused(_status(why.response), bytes(why.response.body))
    if not has_come:
        return ConnectionError(f"{url} closed the connection instead of answering")
    return ConnectionError(f"{url} does not speak WebSocket: {(why and why.__cause__) or why}")


def _status(response: Response) -> HTTPStatus:
    with suppress(ValueError):
        return HTTPStatus(response.status_code)
    return HTTPStatus.BAD_GATEWAY
