"""WebSockets that we accept; with `dialled_socket` the only module that knows the library.

They are driven by calls, not by tasks: a frame arrives and is answered within the same pass of the loop, and everything
written in one pass leaves in one system call (the event loop's own doing, if it is uvloop). Pings go out every half
minute; answers to them are not asked for, as a laptop may sleep for longer than anybody would wait, unless somebody
else wants what the client has (`probe`).
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, Protocol

import picows
from picows import (
    WSAutoPingStrategy,
    WSCloseCode,
    WSFrame,
    WSListener,
    WSMsgType,
    WSTransport,
    WSUpgradeRequest,
    WSUpgradeResponse,
)
from picows.picows import WSProtocol  # type: ignore[attr-defined]

from codex_mcp.transports.first_bytes import FirstBytes

logger = logging.getLogger(__name__)

MAX_FRAME_BYTES: Final = 16 * 1024 * 1024
"""The largest frame that the server reads, as the real server does."""

MAX_MESSAGE_BYTES: Final = 64 * 1024 * 1024
"""The largest message, in as many frames as it likes: a file of 48 MiB in base64."""

FRAGMENT_BYTES: Final = 4 * 1024 * 1024
"""Longer messages leave in frames of this size: clients refuse frames above 16 MiB."""

HANDSHAKE_SECONDS: Final = 5.0
READ_BUFFER_BYTES: Final = 16 * 1024
"""The library's own numbers."""

PING_INTERVAL: Final = 30.0

PROBE_SECONDS: Final = 5.0
"""For a sign of life from a client whose session another connection wants. Clients try for 25 seconds to come back."""

KEEPALIVE: Final = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 30, "TCP_KEEPCNT": 10, "TCP_USER_TIMEOUT": 360_000}
"""A peer that is gone without a word is noticed after six minutes, whether or not something was on its way to it. A
laptop may sleep for as long, and find its processes alive."""

QUEUE_HIGH: Final = 1024 * 1024
"""Unsent bytes above which whoever produces them is told to wait: some ten chunks, more than a local socket takes."""

QUEUE_LOW: Final = 256 * 1024
"""Unsent bytes at which they may go on: the socket must not run dry meanwhile."""

TEXT: Final = 0x1
CONTINUATION: Final = 0x0
FIN: Final = 0x80


class Inlet(Protocol):
    """Hears what happens on one accepted socket."""

    def frame_received(self, frame: bytes) -> None:
        """One whole message."""

    def outlet_full(self) -> None:
        """The client reads too slowly; produce nothing until `outlet_ready`."""

    def outlet_ready(self) -> None:
        """There is room again."""

    def connection_lost(self) -> None:
        """It is over."""


def frame_header(size: int, opcode: int, fin: int = FIN) -> bytes:
    """The head of a frame from server to client, which is never masked."""
    if size < 126:
        return bytes((fin | opcode, size))
    if size < 1 << 16:
        return bytes((fin | opcode, 126)) + size.to_bytes(2, "big")
    return bytes((fin | opcode, 127)) + size.to_bytes(8, "big")


class AcceptedSocket(WSListener):
    """One client's connection."""

    def __init__(self, accept: Callable[[AcceptedSocket], Inlet]) -> None:
        self._accept = accept
        self._inlet: Inlet | None = None
        self._socket: WSTransport | None = None
        self._transport: asyncio.Transport | None = None
        self._parts: list[bytes] = []
        self._size = 0
        self._is_fragmented = False
        """A message has begun, and its last frame has not come."""
        self._is_broken = False
        """The client broke the rules of the protocol: what it still sends is not read."""
        self._ping: asyncio.TimerHandle | None = None
        self._probe: asyncio.TimerHandle | None = None
        self.peer = ""

    def __repr__(self) -> str:
        return f"<AcceptedSocket {self.peer}>"

    # What the library calls.

    def on_ws_connected(self, transport: WSTransport) -> None:
        """The handshake is done."""
        self._socket = transport
        self._transport = transport.underlying_transport
        self._transport.set_write_buffer_limits(high=QUEUE_HIGH, low=QUEUE_LOW)
        _notice_death(self._transport.get_extra_info("socket"))
        host, port = self._transport.get_extra_info("peername")[:2]
        self.peer = f"{host}:{port}"
        self._inlet = self._accept(self)
        self._send_ping()

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        """A frame arrived; a message may be whole now."""
        if self._probe is not None:
            self._is_alive()
        kind = frame.msg_type
        if self._is_broken:
            return
        if frame.rsv1 or frame.rsv2 or frame.rsv3:
            self._break_off(transport, "a frame has reserved bits set")
        elif kind in (WSMsgType.TEXT, WSMsgType.BINARY, WSMsgType.CONTINUATION):
            if (kind == WSMsgType.CONTINUATION) != self._is_fragmented:
                what = "is not finished" if self._is_fragmented else "was not begun"
                self._break_off(transport, f"a message {what}")
                return
            self._is_fragmented = not frame.fin
            payload = frame.get_payload_as_bytes()
            if frame.fin and not self._parts:
                self._deliver(payload)
            else:
                self._assemble(payload, is_last=frame.fin)
        elif kind == WSMsgType.CLOSE:
            transport.send_close(frame.get_close_code())
            transport.disconnect()

    def _break_off(self, transport: WSTransport, why: str) -> None:
        logger.info("connection %s: closed, %s", self.peer, why)
        self._is_broken = True
        transport.send_close(WSCloseCode.PROTOCOL_ERROR, why.encode())
        transport.disconnect()

    def on_ws_disconnected(self, transport: WSTransport) -> None:
        """The connection is over."""
        self._is_alive()
        if self._ping is not None:
            self._ping.cancel()
        inlet, self._inlet = self._inlet, None
        if inlet is not None:
            inlet.connection_lost()

    def pause_writing(self) -> None:
        """Too much is queued."""
        if self._inlet is not None:
            self._inlet.outlet_full()

    def resume_writing(self) -> None:
        """The queue is short again."""
        if self._inlet is not None:
            self._inlet.outlet_ready()

    def _deliver(self, message: bytes) -> None:
        if self._inlet is not None:
            self._inlet.frame_received(message)

    def _assemble(self, payload: bytes, *, is_last: bool) -> None:
        self._parts.append(payload)
        self._size += len(payload)
        if self._size > MAX_MESSAGE_BYTES:
            logger.warning("connection %s: dropped, a message is larger than %d bytes", self.peer, MAX_MESSAGE_BYTES)
            self._parts = []
            self.drop()
        elif is_last:
            message, self._parts, self._size = b"".join(self._parts), [], 0
            self._deliver(message)

    def _send_ping(self) -> None:
        if self._socket is not None and self._ping is not None:
            self._socket.send_ping()
        self._ping = asyncio.get_running_loop().call_later(PING_INTERVAL, self._send_ping)

    @property
    def is_probed(self) -> bool:
        """A sign of life is being waited for."""
        return self._probe is not None

    # What the owner calls.

    def send(self, *parts: bytes) -> None:
        """Queue one message, given in pieces."""
        transport = self._transport
        if transport is None or self._inlet is None or transport.is_closing():
            return
        size = sum(map(len, parts))
        if size <= FRAGMENT_BYTES:
            transport.writelines([frame_header(size, TEXT), *parts])
        else:
            self._send_fragments(transport, memoryview(b"".join(parts)))

    def _send_fragments(self, transport: asyncio.Transport, message: memoryview) -> None:
        opcode = TEXT
        for start in range(0, len(message), FRAGMENT_BYTES):
            piece = message[start : start + FRAGMENT_BYTES]
            fin = FIN if start + FRAGMENT_BYTES >= len(message) else 0
            transport.writelines([frame_header(len(piece), opcode, fin), piece])
            opcode = CONTINUATION

    def pause_reading(self) -> None:
        """Take nothing from the client for now."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Go on."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def probe(self) -> None:
        """Somebody else wants what this client has: end the connection if it shows no sign of life."""
        transport = self._transport
        if self._probe is None and transport is not None and self._socket is not None and not transport.is_closing():
            self._socket.send_ping()
            queued = transport.get_write_buffer_size()
            self._probe = asyncio.get_running_loop().call_later(PROBE_SECONDS, self._probed, transport, queued)

    def _probed(self, transport: asyncio.Transport, queued: int) -> None:
        self._probe = None
        # A client that is not read for now cannot answer; it lives if it takes what is sent.
        is_silent = transport.get_write_buffer_size() >= queued if queued else transport.is_reading()
        if is_silent:
            logger.warning("connection %s: dropped, it showed no sign of life", self.peer)
            transport.abort()

    def _is_alive(self) -> None:
        if self._probe is not None:
            self._probe.cancel()
            self._probe = None

    def drop(self) -> None:
        """Write what is queued, then close, without a word."""
        if self._transport is not None:
            self._transport.close()


def _notice_death(tcp: socket.socket) -> None:
    """Let the kernel end a connection whose other side is gone without a word."""
    tcp.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in KEEPALIVE.items():
        if (option := getattr(socket, name, None)) is not None:  # Linux has them all, macOS some
            tcp.setsockopt(socket.IPPROTO_TCP, option, value)


@dataclass(frozen=True, slots=True)
class Door:
    """Who may come in."""

    accept: Callable[[AcceptedSocket], Inlet]
    refusal: Callable[[str | None], str | None]
    """Given the Authorization header: why not, or None."""
    is_full: Callable[[], bool]


async def listen(host: str, port: int, door: Door) -> asyncio.Server:
    """Accept WebSockets on `/`, and answer `/readyz`."""

    def knocked(request: WSUpgradeRequest) -> picows.WSUpgradeResponseWithListener | WSListener:
        answer = _answer(request, door)
        return picows.WSUpgradeResponseWithListener(answer, None) if answer is not None else AcceptedSocket(door.accept)

    def websocket() -> asyncio.BufferedProtocol:
        # What the library's own server does for each connection; but that one would meet every request itself.
        protocol: asyncio.BufferedProtocol = WSProtocol(
            host_port=None,
            ws_path=None,
            is_client_side=False,
            ws_listener_factory=knocked,
            logger=logging.getLogger("picows.quiet"),
            disconnect_on_exception=True,
            websocket_handshake_timeout=HANDSHAKE_SECONDS,
            enable_auto_ping=False,
            auto_ping_idle_timeout=PING_INTERVAL,
            auto_ping_reply_timeout=PING_INTERVAL,
            auto_ping_strategy=WSAutoPingStrategy.PING_WHEN_IDLE,
            enable_auto_pong=True,
            max_frame_size=MAX_FRAME_BYTES,
            extra_headers=None,
            read_buffer_init_size=READ_BUFFER_BYTES,
        )
        return protocol

    return await asyncio.get_running_loop().create_server(lambda: FirstBytes(websocket), host, port)


def _answer(request: WSUpgradeRequest, door: Door) -> WSUpgradeResponse | None:
    """The answer to a request that shall not become a WebSocket; None lets it."""
    if "Origin" in request.headers:
        return _error(HTTPStatus.FORBIDDEN)  # a web page, in somebody's browser
    path = request.path.partition(b"?")[0]
    if path == b"/readyz":
        ready: WSUpgradeResponse = WSUpgradeResponse.create_ok_response(b"")
        return ready
    if path != b"/":
        return _error(HTTPStatus.NOT_FOUND)
    why_not = door.refusal(request.headers.get("Authorization"))
    if why_not is not None:
        return _error(HTTPStatus.UNAUTHORIZED, why_not)
    if door.is_full():
        return _error(HTTPStatus.SERVICE_UNAVAILABLE, "too many connections")
    return None


def _error(status: HTTPStatus, text: str = "") -> WSUpgradeResponse:
    headers = {"Content-Type": "text/plain; charset=utf-8"} if text else None
    answer: WSUpgradeResponse = WSUpgradeResponse.create_error_response(status, text.encode(), headers)
    return answer
