"""WebSockets, accepted and dialled; the only module that knows the library.

Accepted sockets are driven by calls, not by tasks: a frame arrives and is answered within the same pass of the loop,
and everything written in one pass leaves in one system call (the event loop's own doing, if it is uvloop). Dialled ones
are a Channel. Pings go out every half minute; answers to them are not asked for, as a laptop may sleep for longer than
anybody would wait.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, Protocol

import picows
from picows import WSFrame, WSListener, WSMsgType, WSTransport, WSUpgradeRequest, WSUpgradeResponse

from codex_mcp.rpc.channel import Kind
from codex_mcp.wire.jsonrpc import Id

logger = logging.getLogger(__name__)

MAX_FRAME_BYTES: Final = 16 * 1024 * 1024
"""The largest frame that the server reads, as the real server does."""

MAX_MESSAGE_BYTES: Final = 64 * 1024 * 1024
"""The largest message, in as many frames as it likes: a file of 48 MiB in base64."""

FRAGMENT_BYTES: Final = 4 * 1024 * 1024
"""Longer messages leave in frames of this size: clients refuse frames above 16 MiB."""

PING_INTERVAL: Final = 30.0

QUEUE_HIGH: Final = 1024 * 1024
"""Unsent bytes above which whoever produces them is told to wait: some ten chunks, more than a local socket takes."""

QUEUE_LOW: Final = 256 * 1024
"""Unsent bytes at which they may go on: the socket must not run dry meanwhile."""

DIALLED_FRAME_BYTES: Final = 128 * 1024 * 1024
"""The real server answers with frames of up to 84 MB."""

QUICK_ACKNOWLEDGEMENT: Final[int] = getattr(socket, "TCP_QUICKACK", 0)
"""Linux has it; elsewhere it is 0, and left alone."""

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
        self._ping: asyncio.TimerHandle | None = None
        self.peer = ""

    def __repr__(self) -> str:
        return f"<AcceptedSocket {self.peer}>"

    # What the library calls.

    def on_ws_connected(self, transport: WSTransport) -> None:
        """The handshake is done."""
        self._socket = transport
        self._transport = transport.underlying_transport
        self._transport.set_write_buffer_limits(high=QUEUE_HIGH, low=QUEUE_LOW)
        host, port = self._transport.get_extra_info("peername")[:2]
        self.peer = f"{host}:{port}"
        self._inlet = self._accept(self)
        self._send_ping()

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        """A frame arrived; a message may be whole now."""
        kind = frame.msg_type
        if kind in (WSMsgType.TEXT, WSMsgType.BINARY, WSMsgType.CONTINUATION):
            payload = frame.get_payload_as_bytes()
            if frame.fin and not self._parts:
                self._deliver(payload)
            else:
                self._assemble(payload, is_last=frame.fin)
        elif kind == WSMsgType.CLOSE:
            transport.send_close(frame.get_close_code())
            transport.disconnect()

    def on_ws_disconnected(self, transport: WSTransport) -> None:
        """The connection is over."""
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

    def drop(self) -> None:
        """Write what is queued, then close, without a word."""
        if self._transport is not None:
            self._transport.close()


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

    return await picows.ws_create_server(
        knocked,
        host,
        port,
        use_aiofastnet=False,  # it writes at once; uvloop writes once per pass
        max_frame_size=MAX_FRAME_BYTES,
        logger_name=logging.getLogger("picows.quiet"),
    )


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


class DialledSocket(WSListener):
    """A connection that we opened, as a Channel."""

    def __init__(self) -> None:
        self._socket: WSTransport | None = None
        self._inbox: list[bytes] = []
        self._inbox_bytes = 0
        self._parts: list[bytes] = []
        self._news: asyncio.Future[None] | None = None
        self._drained: list[asyncio.Future[None]] = []
        self._tcp: socket.socket | None = None
        self._lost = False

    def on_ws_connected(self, transport: WSTransport) -> None:
        """The handshake is done."""
        self._socket = transport
        transport.underlying_transport.set_write_buffer_limits(high=1, low=0)
        if QUICK_ACKNOWLEDGEMENT:
            self._tcp = transport.underlying_transport.get_extra_info("socket")

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        """A frame arrived; a message may be whole now."""
        if frame.msg_type in (WSMsgType.TEXT, WSMsgType.BINARY, WSMsgType.CONTINUATION):
            self._parts.append(frame.get_payload_as_bytes())
            if frame.fin:
                message = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
                self._parts = []
                self._inbox.append(message)
                self._inbox_bytes += len(message)
                if self._inbox_bytes > QUEUE_HIGH:
                    transport.underlying_transport.pause_reading()
                _wake(self._news)
        elif frame.msg_type == WSMsgType.CLOSE:
            transport.send_close(frame.get_close_code())
            transport.disconnect()

    def on_ws_disconnected(self, transport: WSTransport) -> None:
        """The connection is over."""
        self._lost = True
        _wake(self._news)
        self.resume_writing()

    def pause_writing(self) -> None:
        """The socket is full."""

    def resume_writing(self) -> None:
        """What was queued has left, or nobody will read it."""
        waiters, self._drained = self._drained, []
        for waiter in waiters:
            _wake(waiter)

    async def receive(self) -> Sequence[bytes]:
        """Return the messages that came; nothing at the end."""
        while not self._inbox and not self._lost:
            self._news = asyncio.get_running_loop().create_future()
            await self._news
        messages, self._inbox = self._inbox, []
        self._acknowledge()
        if self._inbox_bytes > QUEUE_HIGH and self._socket is not None and not self._lost:
            self._socket.underlying_transport.resume_reading()
        self._inbox_bytes = 0
        return messages

    def _acknowledge(self) -> None:
        """Let the kernel say at once that this came: Codex' server sends no small message before it knows, which else
        costs 40 ms each. The kernel forgets the wish, so that it is repeated."""
        if self._tcp is not None and not self._lost:
            with suppress(OSError):
                self._tcp.setsockopt(socket.IPPROTO_TCP, QUICK_ACKNOWLEDGEMENT, 1)

    def send(self, frame: bytes, about: Id | None = None, kind: Kind = Kind.NOTIFICATION) -> None:
        """Queue one message."""
        if self._socket is not None and not self._lost and not self._socket.underlying_transport.is_closing():
            self._socket.send(WSMsgType.TEXT, frame)

    async def drain(self, below: int) -> None:
        """Wait until fewer bytes than that are queued, or nobody reads any longer."""
        while self._socket is not None and not self._lost:
            if self._socket.underlying_transport.get_write_buffer_size() < below:
                return
            waiter = asyncio.get_running_loop().create_future()
            self._drained.append(waiter)
            await waiter

    async def aclose(self) -> None:
        """Say goodbye and close; twice is fine."""
        if self._socket is not None and not self._lost:
            self._socket.send_close(picows.WSCloseCode.OK)
            self._socket.disconnect()
            with suppress(ConnectionError):
                await self._socket.wait_disconnected()


class HandshakeRefused(Exception):
    """The other side answered, but not with a WebSocket."""

    def __init__(self, status: HTTPStatus, body: bytes) -> None:
        text = body.decode(errors="replace").strip()
        super().__init__(f"{status.value} {status.phrase}" + (f": {text}" if text else ""))
        self.status = status


async def dial(url: str, headers: Mapping[str, str], timeout: float) -> DialledSocket:
    """Open a WebSocket. Raises OSError, TimeoutError, or HandshakeRefused."""
    try:
        async with asyncio.timeout(timeout):
            _, listener = await picows.ws_connect(
                DialledSocket,
                url,
                extra_headers=dict(headers),
                max_frame_size=DIALLED_FRAME_BYTES,
                websocket_handshake_timeout=timeout,
                max_redirects=0,
                logger_name=logging.getLogger("picows.quiet"),
            )
    except picows.WSInvalidStatusError as exc:
        status = exc.response.status if exc.response is not None else HTTPStatus.BAD_GATEWAY
        raise HandshakeRefused(status, exc.raw_body or b"") from exc
    except picows.WSInvalidURL as exc:
        raise ValueError(f"cannot dial {url}: it is no WebSocket URL") from exc
    except picows.WSError as exc:
        raise ConnectionError(f"{url} does not speak WebSocket: {exc}") from exc
    if not isinstance(listener, DialledSocket):
        raise ConnectionError(f"{url} closed the connection instead of answering")
    return listener


def _wake(waiter: asyncio.Future[None] | None) -> None:
    if waiter is not None and not waiter.done():
        waiter.set_result(None)
