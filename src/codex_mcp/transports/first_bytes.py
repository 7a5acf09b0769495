"""The start of a WebSocket connection: the first line of the request decides what answers it.

An HTTP/1.1 GET is handed to the WebSocket library with all bytes received so far. Every other request is answered
here, as Codex's own server does, because the library would call it malformed: a readiness probe gets 200, anything
else an error status.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import Final, cast

from codex_mcp.access.peers import Peers
from codex_mcp.transports.budgets import Rank, Use
from codex_mcp.transports.connections import Connections

MAX_HEAD_BYTES: Final = 16 * 1024
"""The longest request head that is answered here; probes need a hundredth of it."""

HEAD_SECONDS: Final = 5.0
"""For the head of a request; the library allows a handshake as much."""

READY: Final = b"/readyz"
HEAD_END: Final = b"\r\n\r\n"


class FirstBytes(asyncio.Protocol):
    def __init__(
        self,
        websocket: Callable[[asyncio.Transport], asyncio.BufferedProtocol],
        connections: Connections,
        peers: Peers | None = None,
    ) -> None:
        self._websocket = websocket
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
        line, end, _ = self._came.partition(b"\r\n")
        if end and line.startswith(b"GET ") and line.endswith(b" HTTP/1.1"):
            self._check(self._transport)
        elif HEAD_END in self._came:
            self._transport.write(answer_to(self._came.partition(HEAD_END)[0]))
            self._transport.close()
        elif len(self._came) > MAX_HEAD_BYTES:
            self._transport.abort()

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
        websocket = self._websocket(transport)
        transport.set_protocol(websocket)
        websocket.connection_made(transport)
        rest = memoryview(self._came)
        while rest:
            room = memoryview(websocket.get_buffer(len(rest)))
            size = min(len(room), len(rest))
            room[:size] = rest[:size]
            websocket.buffer_updated(size)
            rest = rest[size:]

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


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
