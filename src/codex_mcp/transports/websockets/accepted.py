"""Answers those who ask for a WebSocket: for a web server, or on an address of their own (`listen`).

`listen` is for an exec-server or a bridge; `first_bytes` answers there what asks for anything else.
"""

from __future__ import annotations

import asyncio
import hashlib
import socket
from collections.abc import Callable, Sequence
from functools import partial
from http import HTTPStatus
from typing import Final

import msgspec
from msgspec import Struct
from websockets.datastructures import Headers
from websockets.extensions.permessage_deflate import ServerPerMessageDeflateFactory
from websockets.http11 import Request, Response
from websockets.protocol import State
from websockets.server import ServerProtocol

from codex_mcp.access.peers import Peers
from codex_mcp.transports.budgets import Rank
from codex_mcp.transports.connections import Connections
from codex_mcp.transports.first_bytes import FirstBytes
from codex_mcp.transports.websockets.socket import QUIET, Socket, SocketListener, SocketRules

MAX_FRAME_BYTES: Final = 16 * 1024 * 1024
"""The largest frame that is read, as in Codex's own server."""

HELD_BYTES: Final = 512 * 1024 * 1024
"""Of messages that are not complete, over all connections; one client may have half: four of the largest messages."""

BAD_REQUEST: Final = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
"""The answer to what is not HTTP."""

COMPRESSION: Final = ServerPerMessageDeflateFactory(
    server_max_window_bits=12, client_max_window_bits=12, compress_settings={"memLevel": 5}
)
"""With little memory for each socket."""

RULES: Final = SocketRules(at_rest=(Rank.IDLE, Rank.BUSY), frame_bytes=MAX_FRAME_BYTES)

KEEPALIVE: Final = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 30, "TCP_KEEPCNT": 10, "TCP_USER_TIMEOUT": 360_000}
"""A client that vanished is noticed after six minutes, whether or not data was on its way to it. A laptop may sleep
that long and still find its processes."""


def library_for(rules: SocketRules) -> ServerProtocol:
    extensions = [COMPRESSION] if rules.may_compress else None
    return ServerProtocol(extensions=extensions, max_size=(rules.message_bytes, rules.frame_bytes), logger=QUIET)


def handshake(
    head: bytes, rules: SocketRules, headers: Sequence[tuple[bytes, bytes]] = ()
) -> tuple[ServerProtocol | None, bytes]:
    """The answer to a request that asks for a WebSocket; None if it does so in a wrong way."""
    library = library_for(rules)
    library.receive_data(head)
    for request in library.events_received():
        assert isinstance(request, Request), "nothing else comes first"
        response = library.accept(request)
        if response.status_code == HTTPStatus.SWITCHING_PROTOCOLS:
            response.headers.update([(name.decode(), value.decode("latin-1")) for name, value in headers])
        library.send_response(response)
        answer = b"".join(library.data_to_send())
        return library if library.state is State.OPEN else None, answer
    return None, BAD_REQUEST


class Endpoint(Struct, frozen=True):
    """What a listener needs to know about connections."""

    accept: Callable[[Socket], SocketListener]
    refusal: Callable[[str | None], str | None]
    """Given the Authorization header: why the connection is refused, or None."""
    is_full: Callable[[], bool]
    connections: Connections = msgspec.field(default_factory=partial(Connections, held_bytes=HELD_BYTES))
    peers: Peers | None = None  # refuses processes that agents started; None serves everyone


async def listen(host: str, port: int, endpoint: Endpoint) -> asyncio.Server:
    """Accept WebSockets on `/`, and answer `/readyz`."""
    accept = partial(FirstBytes, partial(_requested, endpoint), endpoint.connections, endpoint.peers)
    return await asyncio.get_running_loop().create_server(accept, host, port)


def _requested(endpoint: Endpoint, transport: asyncio.Transport, head: bytes, came: bytes) -> None:
    library = library_for(RULES)
    library.receive_data(head)
    request = next(iter(library.events_received()), None)
    if not isinstance(request, Request):
        _hang_up(endpoint, transport, BAD_REQUEST)
        return
    authorization = _first(request.headers, "Authorization")
    # Whoever shows the same token is the same principal. The token itself is not kept.
    principal = hashlib.sha256((authorization or "").encode()).hexdigest()
    response = _refused(library, request, endpoint, authorization) or library.accept(request)
    if response.status_code == HTTPStatus.UPGRADE_REQUIRED:
        response = library.reject(HTTPStatus.BAD_REQUEST, "")  # as Codex's own server
    is_accepted = response.status_code == HTTPStatus.SWITCHING_PROTOCOLS
    if is_accepted and not endpoint.connections.admitted(transport, principal):
        response, is_accepted = library.reject(HTTPStatus.SERVICE_UNAVAILABLE, "too many connections"), False
    library.send_response(response)
    data = b"".join(library.data_to_send())
    if not is_accepted:
        _hang_up(endpoint, transport, data)
        return
    transport.write(data)
    _notice_death(transport.get_extra_info("socket"))
    accepted = Socket(library, RULES, endpoint.connections, principal)
    accepted.start(transport, endpoint.accept(accepted), came)


def _hang_up(endpoint: Endpoint, transport: asyncio.Transport, answer: bytes) -> None:
    endpoint.connections.closed(transport)
    transport.write(answer)
    transport.close()


def _first(headers: Headers, name: str) -> str | None:
    return next(iter(headers.get_all(name)), None)


def _refused(
    library: ServerProtocol, request: Request, endpoint: Endpoint, authorization: str | None
) -> Response | None:
    """The answer to a request that does not become a WebSocket; None if it does."""
    if "Origin" in request.headers:
        return library.reject(HTTPStatus.FORBIDDEN, "")  # a web page in a browser
    path = request.path.partition("?")[0]
    if path == "/readyz":
        return library.reject(HTTPStatus.OK, "")
    if path != "/":
        return library.reject(HTTPStatus.NOT_FOUND, "")
    why_not = endpoint.refusal(authorization)
    if why_not is not None:
        return library.reject(HTTPStatus.UNAUTHORIZED, why_not)
    if endpoint.is_full():
        return library.reject(HTTPStatus.SERVICE_UNAVAILABLE, "too many connections")
    return None


def _notice_death(tcp: socket.socket) -> None:
    """Let the kernel end a connection whose client has vanished."""
    tcp.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in KEEPALIVE.items():
        if (option := getattr(socket, name, None)) is not None:  # Linux has them all, macOS some
            tcp.setsockopt(socket.IPPROTO_TCP, option, value)
