"""WebSocket connections that we accept. Only this module and `dialled_socket` use the WebSocket library.

Sockets are driven by calls, not by tasks: a frame is handled within the pass of the event loop in which it arrives, and
uvloop sends everything written in one pass with one system call. Pings are sent every half minute. Their answers are
not required, because a laptop may sleep for long, unless another connection wants the client's session (`probe`).
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import socket
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Final, Protocol, cast

import msgspec
import picows
from msgspec import Struct
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

from codex_mcp.access.peers import Peers
from codex_mcp.transports.budgets import Rank, Use
from codex_mcp.transports.connections import COUNTED_FROM, FRAGMENT_COST, TOO_LATE, Connections, InputClock
from codex_mcp.transports.first_bytes import FirstBytes

logger = logging.getLogger(__name__)

MAX_FRAME_BYTES: Final = 16 * 1024 * 1024
"""The largest frame that is read, as in Codex's own server."""

MAX_MESSAGE_BYTES: Final = 64 * 1024 * 1024
"""The largest message, in any number of frames: a file of 48 MiB in base64."""

HELD_BYTES: Final = 512 * 1024 * 1024
"""Of messages that are not complete, over all connections; one client may have half: four of the largest messages."""

FRAGMENT_BYTES: Final = 4 * 1024 * 1024
"""Longer messages are sent in frames of this size: clients refuse frames above 16 MiB."""

HANDSHAKE_SECONDS: Final = 5.0
READ_BUFFER_BYTES: Final = 16 * 1024
"""The library's defaults."""

PING_INTERVAL: Final = 30.0

PROBE_SECONDS: Final = 5.0
"""For a sign of life from a client whose session another connection wants. Clients try to reconnect for 25 seconds."""

KEEPALIVE: Final = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 30, "TCP_KEEPCNT": 10, "TCP_USER_TIMEOUT": 360_000}
"""A client that vanished is noticed after six minutes, whether or not data was on its way to it. A laptop may sleep
that long and still find its processes."""

QUEUE_HIGH: Final = 1024 * 1024
"""Unsent bytes above which the producer is told to wait: some ten chunks, more than a local socket takes."""

QUEUE_LOW: Final = 256 * 1024
"""Unsent bytes at which it may continue: the socket must not run empty meanwhile."""

TEXT: Final = 0x1
CONTINUATION: Final = 0x0
FIN: Final = 0x80


class SocketListener(Protocol):
    """Is told what happens on one accepted socket."""

    def frame_received(self, frame: bytes) -> None: ...

    def pause_writing(self) -> None:
        """The client reads too slowly; produce nothing until `resume_writing`."""

    def resume_writing(self) -> None: ...

    def connection_lost(self) -> None: ...


def frame_header(size: int, opcode: int, fin: int = FIN) -> bytes:
    """The header of a frame from server to client, which is never masked."""
    if size < 126:
        return bytes((fin | opcode, size))
    if size < 1 << 16:
        return bytes((fin | opcode, 126)) + size.to_bytes(2, "big")
    return bytes((fin | opcode, 127)) + size.to_bytes(8, "big")


class AcceptedSocket(WSListener):
    def __init__(
        self, accept: Callable[[AcceptedSocket], SocketListener], connections: Connections, principal: str
    ) -> None:
        self._accept = accept
        self._connections = connections
        self._principal = principal
        self._has_spoken = False
        self._frame_bytes = 0
        """Of a frame that has not arrived completely; about, because a read may also hold the end of another one."""
        self._has_frame = False
        self._clock: InputClock | None = None
        self._listener: SocketListener | None = None
        self._socket: WSTransport | None = None
        self._transport: asyncio.Transport | None = None
        self._parts: list[bytes] = []
        self._size = 0
        self._is_fragmented = False
        """A message has begun, and its last frame has not arrived."""
        self._is_broken = False
        """The client violated the protocol: its further input is ignored."""
        self._ping: asyncio.TimerHandle | None = None
        self._probe: asyncio.TimerHandle | None = None
        self.peer = ""

    def on_ws_connected(self, transport: WSTransport) -> None:
        self._socket = transport
        self._transport = transport.underlying_transport
        self._transport.set_write_buffer_limits(high=QUEUE_HIGH, low=QUEUE_LOW)
        _notice_death(self._transport.get_extra_info("socket"))
        host, port = self._transport.get_extra_info("peername")[:2]
        self.peer = f"{host}:{port}"
        self._connections.taken_over(self._transport, self)
        self._clock = InputClock(self._transport, self.held_bytes, partial(self._drop_message, TOO_LATE))
        self._listener = self._accept(self)
        self._send_ping()

    def use(self) -> Use:
        return Use(Rank.BUSY if self._has_spoken else Rank.IDLE)

    def held_bytes(self) -> int:
        return self._size + len(self._parts) * FRAGMENT_COST + self._frame_bytes

    def bytes_received(self, size: int) -> None:
        """A read is done: the frames in it were delivered."""
        self._frame_bytes = 0 if self._has_frame else self._frame_bytes + size
        self._has_frame = False
        if self._frame_bytes >= COUNTED_FROM and not self._is_broken:
            self._count_input()

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        if self._probe is not None:
            self._is_alive()
        self._has_frame = True
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
                self._input_ended()
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
        self._is_alive()
        self._input_ended()
        if self._clock is not None:
            self._clock.close()
            self._clock = None
        if self._transport is not None:
            self._connections.closed(self._transport)
        if self._ping is not None:
            self._ping.cancel()
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.connection_lost()

    def pause_writing(self) -> None:
        if self._listener is not None:
            self._listener.pause_writing()

    def resume_writing(self) -> None:
        if self._listener is not None:
            self._listener.resume_writing()

    def _deliver(self, message: bytes) -> None:
        self._has_spoken = True
        if self._listener is not None:
            self._listener.frame_received(message)

    def _assemble(self, payload: bytes, *, is_last: bool) -> None:
        self._parts.append(payload)
        self._size += len(payload)
        if self._size > MAX_MESSAGE_BYTES:
            self._drop_message(f"a message is larger than {MAX_MESSAGE_BYTES} bytes")
        elif is_last:
            message, self._parts, self._size = b"".join(self._parts), [], 0
            self._input_ended()
            self._deliver(message)
        else:
            self._count_input()

    def _count_input(self) -> None:
        assert self._transport is not None
        assert self._clock is not None, "it is connected"
        self._clock.start()
        if not self._connections.holds(self._transport, self._principal, self.held_bytes()):
            self._drop_message("too many bytes of unfinished messages are held")

    def _input_ended(self) -> None:
        if self._clock is not None and self._clock.is_running and self._transport is not None:
            self._clock.stop()
            self._connections.holds(self._transport, self._principal, 0)

    def _drop_message(self, why: str) -> None:
        logger.warning("connection %s: dropped, %s", self.peer, why)
        self._parts, self._size, self._frame_bytes, self._is_broken = [], 0, 0, True
        self._input_ended()
        self.drop()

    def _send_ping(self) -> None:
        if self._socket is not None and self._ping is not None:
            self._socket.send_ping()
        self._ping = asyncio.get_running_loop().call_later(PING_INTERVAL, self._send_ping)

    @property
    def is_probed(self) -> bool:
        return self._probe is not None

    def send(self, *parts: bytes) -> None:
        transport = self._transport
        if transport is None or self._listener is None or transport.is_closing():
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
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def probe(self) -> None:
        transport = self._transport
        if self._probe is None and transport is not None and self._socket is not None and not transport.is_closing():
            self._socket.send_ping()
            queued = transport.get_write_buffer_size()
            self._probe = asyncio.get_running_loop().call_later(PROBE_SECONDS, self._probed, transport, queued)

    def _probed(self, transport: asyncio.Transport, queued: int) -> None:
        self._probe = None
        # A client that is not being read cannot answer; it is alive if it takes what is sent.
        is_silent = transport.get_write_buffer_size() >= queued if queued else transport.is_reading()
        if is_silent:
            logger.warning("connection %s: dropped, it showed no sign of life", self.peer)
            transport.abort()

    def _is_alive(self) -> None:
        if self._probe is not None:
            self._probe.cancel()
            self._probe = None

    def drop(self) -> None:
        """Send what is queued, then close without a close frame."""
        if self._transport is not None:
            self._transport.close()


def _notice_death(tcp: socket.socket) -> None:
    """Let the kernel end a connection whose client has vanished."""
    tcp.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in KEEPALIVE.items():
        if (option := getattr(socket, name, None)) is not None:  # Linux has them all, macOS some
            tcp.setsockopt(socket.IPPROTO_TCP, option, value)


class _CountedProtocol(WSProtocol):  # type: ignore[misc]
    """Tells the socket of each read: the library itself only tells of whole frames."""

    accepted: AcceptedSocket | None = None

    def buffer_updated(self, nbytes: int) -> None:
        super().buffer_updated(nbytes)
        if self.accepted is not None:
            self.accepted.bytes_received(nbytes)


class Endpoint(Struct, frozen=True):
    """What a listener needs to know about connections."""

    accept: Callable[[AcceptedSocket], SocketListener]
    refusal: Callable[[str | None], str | None]
    """Given the Authorization header: why the connection is refused, or None."""
    is_full: Callable[[], bool]
    connections: Connections = msgspec.field(default_factory=partial(Connections, held_bytes=HELD_BYTES))
    peers: Peers | None = None  # refuses processes that agents started; None serves everyone


async def listen(host: str, port: int, endpoint: Endpoint) -> asyncio.Server:
    """Accept WebSockets on `/`, and answer `/readyz`."""
    accept = partial(FirstBytes, partial(_websocket, endpoint), endpoint.connections, endpoint.peers)
    return await asyncio.get_running_loop().create_server(accept, host, port)


def _websocket(endpoint: Endpoint, transport: asyncio.Transport) -> asyncio.BufferedProtocol:
    """As the library's own server does for each connection; but that one would answer every request itself."""
    protocol: asyncio.BufferedProtocol = _CountedProtocol(
        host_port=None,
        ws_path=None,
        is_client_side=False,
        ws_listener_factory=partial(_requested, endpoint, transport),
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


def _requested(
    endpoint: Endpoint, transport: asyncio.Transport, request: WSUpgradeRequest
) -> picows.WSUpgradeResponseWithListener | WSListener:
    # Whoever shows the same token is the same principal. The token itself is not kept.
    principal = hashlib.sha256(request.headers.get("Authorization", "").encode()).hexdigest()
    answer = _answer(request, endpoint)
    if answer is None and not endpoint.connections.admitted(transport, principal):
        answer = _error(HTTPStatus.SERVICE_UNAVAILABLE, "too many connections")
    if answer is not None:
        endpoint.connections.closed(transport)  # the library closes it, and tells nobody
        return picows.WSUpgradeResponseWithListener(answer, None)
    protocol = cast("_CountedProtocol", transport.get_protocol())
    protocol.accepted = AcceptedSocket(endpoint.accept, endpoint.connections, principal)
    return protocol.accepted


def _answer(request: WSUpgradeRequest, endpoint: Endpoint) -> WSUpgradeResponse | None:
    """The answer to a request that does not become a WebSocket; None if it does."""
    if "Origin" in request.headers:
        return _error(HTTPStatus.FORBIDDEN)  # a web page in a browser
    path = request.path.partition(b"?")[0]
    if path == b"/readyz":
        ready: WSUpgradeResponse = WSUpgradeResponse.create_ok_response(b"")
        return ready
    if path != b"/":
        return _error(HTTPStatus.NOT_FOUND)
    why_not = endpoint.refusal(request.headers.get("Authorization"))
    if why_not is not None:
        return _error(HTTPStatus.UNAUTHORIZED, why_not)
    if endpoint.is_full():
        return _error(HTTPStatus.SERVICE_UNAVAILABLE, "too many connections")
    return None


def _error(status: HTTPStatus, text: str = "") -> WSUpgradeResponse:
    headers = {"Content-Type": "text/plain; charset=utf-8"} if text else None
    answer: WSUpgradeResponse = WSUpgradeResponse.create_error_response(status, text.encode(), headers)
    return answer
