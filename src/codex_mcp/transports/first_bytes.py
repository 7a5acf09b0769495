"""The start of a connection, before it is read by what will serve it.

`FirstBytes`, for an exec-server: the first line of the request decides what answers it. The head of an HTTP/1.1 GET is
handed over, with what has come behind it. Every other request is answered here, as Codex's own server does, because the
WebSocket library would call it malformed: a readiness probe gets 200, anything else an error status.

`TlsStart`, for our web servers: the handshake. If the event loop made it, we would hear of a connection only
afterwards: for a minute, silent ones would take every descriptor, and no budget would know of them.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, cast

from codex_mcp.access.peers import Peers
from codex_mcp.base.tasks import spawn
from codex_mcp.transports.budgets import Rank, Use
from codex_mcp.transports.connections import Connections

if TYPE_CHECKING:
    from uvicorn import Config

MAX_HEAD_BYTES: Final = 16 * 1024
"""The longest request head that is answered here; probes need a hundredth of it."""

HEAD_SECONDS: Final = 5.0
"""For the head of a request; the library allows a handshake as much."""

HANDSHAKE_SECONDS: Final = 10.0
"""For TLS. It takes two or three trips over the network, and some milliseconds of work."""

READY: Final = b"/readyz"
HEAD_END: Final = b"\r\n\r\n"


class FirstBytes(asyncio.Protocol):
    def __init__(
        self,
        requested: Callable[[asyncio.Transport, bytes, bytes], None],
        connections: Connections,
        peers: Peers | None = None,
    ) -> None:
        self._requested = requested
        self._connections = connections
        self._peers = peers
        self._checked: asyncio.Future[str | None] | None = None
        self._transport: asyncio.Transport | None = None
        self._came = b""
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._timer = asyncio.get_running_loop().call_later(HEAD_SECONDS, self._transport.abort)
        self._connections.opened(self._transport, self)

    def connection_lost(self, _exc: Exception | None) -> None:
        self._stop_waiting()
        if self._transport is not None:
            self._connections.closed(self._transport)

    def use(self) -> Use:
        return Use(Rank.IDLE)

    def held_bytes(self) -> int:
        return len(self._came)

    def data_received(self, data: bytes) -> None:
        assert self._transport is not None
        if self._transport.is_closing():
            return
        self._came += data
        if self._checked is not None:
            return  # what comes until its client is known is kept
        head, end, _ = self._came.partition(HEAD_END)
        if not end and len(self._came) > MAX_HEAD_BYTES:
            self._transport.abort()
        elif end and _is_get(head):
            self._check(self._transport)
        elif end:
            self._transport.write(answer_to(head))
            self._transport.close()

    def _check(self, transport: asyncio.Transport) -> None:
        if self._peers is None:
            self._hand_over(transport)
            return
        transport.pause_reading()
        self._checked = self._peers.check(*(transport.get_extra_info(name) for name in ("peername", "sockname")))
        self._checked.add_done_callback(lambda checked: self._known(transport, checked))

    def _known(self, transport: asyncio.Transport, checked: asyncio.Future[str | None]) -> None:
        if transport.is_closing() or checked.cancelled():
            transport.abort()
        elif (why := checked.result()) is not None:
            transport.write(refused(why))
            transport.close()
        else:
            transport.resume_reading()
            self._hand_over(transport)

    def _hand_over(self, transport: asyncio.Transport) -> None:
        self._stop_waiting()
        head, end, came = self._came.partition(HEAD_END)
        self._requested(transport, head + end, came)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


class TlsStart(asyncio.Protocol):
    """Makes the handshake, then hands the connection over, with what has come until then."""

    def __init__(self, make: Callable[[], asyncio.Protocol], context: ssl.SSLContext, connections: Connections) -> None:
        self._make = make
        self._context = context
        self._connections = connections
        self._plain: asyncio.Transport | None = None
        """Until the handshake has begun."""
        self._timer: asyncio.TimerHandle | None = None
        self._came = b""
        self._is_lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._plain = cast("asyncio.Transport", transport)
        self._timer = asyncio.get_running_loop().call_later(HANDSHAKE_SECONDS, self._plain.abort)
        self._connections.opened(self._plain, self)

    def data_received(self, data: bytes) -> None:
        plain, self._plain = self._plain, None
        if plain is None:
            self._came += data  # of the encrypted connection
        elif not plain.is_closing():
            plain.pause_reading()
            spawn(self._start(plain, data), name="TLS of a connection")

    def connection_lost(self, _exc: Exception | None) -> None:
        self._is_lost = True
        if self._timer is not None:
            self._timer.cancel()
        if self._plain is not None:
            self._connections.closed(self._plain)

    def use(self) -> Use:
        return Use(Rank.IDLE)

    def held_bytes(self) -> int:
        return len(self._came)

    async def _start(self, plain: asyncio.Transport, hello: bytes) -> None:
        loop = asyncio.get_running_loop()
        handshake = spawn(self._encrypt(plain), name="TLS handshake")
        await asyncio.sleep(0)  # until it reads; in the same pass of the event loop it gets what was read before
        loop.call_soon(lambda: _feed(cast("asyncio.BufferedProtocol", plain.get_protocol()), hello))
        encrypted = await handshake
        self._connections.closed(plain)
        if self._timer is not None:
            self._timer.cancel()
        if encrypted is None or self._is_lost:
            plain.abort()
            return
        protocol = self._make()
        encrypted.set_protocol(protocol)
        protocol.connection_made(encrypted)
        if self._came:
            protocol.data_received(self._came)

    async def _encrypt(self, plain: asyncio.Transport) -> asyncio.Transport | None:
        try:
            return await asyncio.get_running_loop().start_tls(plain, self, self._context, server_side=True)
        except OSError:  # no TLS, too slow, or gone
            return None


def start_tls_ourselves(config: Config, connections: Connections) -> None:
    """Let the connections of this server, which has loaded its certificate, begin TLS here."""
    context, config.ssl = config.ssl, None
    if context is not None:
        make = partial(_started, config.http_protocol_class, context, connections)
        config.http_protocol_class = make  # type: ignore[assignment]  # it is called, as a class would be


def _started(
    make: Callable[..., asyncio.Protocol], context: ssl.SSLContext, connections: Connections, **words: object
) -> TlsStart:
    return TlsStart(partial(make, **words), context, connections)


def _feed(reader: asyncio.BufferedProtocol, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        room = memoryview(reader.get_buffer(len(rest)))
        size = min(len(room), len(rest))
        room[:size] = rest[:size]
        reader.buffer_updated(size)
        rest = rest[size:]


def _is_get(head: bytes) -> bool:
    line = head.partition(b"\r\n")[0]
    return line.startswith(b"GET ") and line.endswith(b" HTTP/1.1")


def answer_to(head: bytes) -> bytes:
    """The whole answer to a request that cannot become a WebSocket."""
    line, *fields = head.split(b"\r\n")
    words = line.split(b" ")
    if len(words) != 3 or not words[2].startswith(b"HTTP/1."):
        return _answer(HTTPStatus.BAD_REQUEST)
    method, path = words[0], words[1].partition(b"?")[0]
    if any(field.lower().startswith(b"origin:") for field in fields):
        return _answer(HTTPStatus.FORBIDDEN)  # a web page in a browser
    if path == READY:
        is_probe = method in (b"GET", b"HEAD")
        return _answer(HTTPStatus.OK) if is_probe else _answer(HTTPStatus.METHOD_NOT_ALLOWED, b"allow: GET,HEAD\r\n")
    return _answer(HTTPStatus.METHOD_NOT_ALLOWED if path == b"/" else HTTPStatus.NOT_FOUND)


def refused(why: str) -> bytes:
    """The whole answer to a client that may not connect."""
    text = why.encode() + b"\n"
    fields = b"content-type: text/plain; charset=utf-8\r\n"
    return _answer(HTTPStatus.FORBIDDEN, fields, text)


def _answer(status: HTTPStatus, fields: bytes = b"", body: bytes = b"") -> bytes:
    line = f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode()
    return line + fields + b"content-length: %d\r\nconnection: close\r\n\r\n%b" % (len(body), body)
