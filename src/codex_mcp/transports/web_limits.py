"""What uvicorn leaves open: how long a head may be and may take, and for how long a reader may take nothing.

The HTTP parser takes heads of any length, a connection may be silent from its first byte on, and a client that does not
read holds its connection, its answer and its stream for as long as it likes. Also, the loss of a connection is told to
the last request on it alone, which is the wrong one where a client sends requests ahead of answers.
"""

from __future__ import annotations

import asyncio
import logging
import struct
import sys
from collections.abc import Callable, Sequence
from functools import partial
from socket import AF_INET, AF_INET6, IPPROTO_TCP, SO_LINGER, SOL_SOCKET, TCP_NODELAY
from typing import Any, Final

import httptools
import msgspec
from msgspec import Struct
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from codex_mcp.transports.connections import Connections
from codex_mcp.transports.held_head import HeldHead
from codex_mcp.transports.http import CONNECTION, WHOLE_ANSWER, WHOLE_BODY
from codex_mcp.transports.whole_answer import send_whole

logger = logging.getLogger(__name__)

MAX_HEAD_BYTES: Final = 64 * 1024
"""Request line and headers. Our own longest header is a session id of a few hundred bytes; signed tokens have some
thousands."""

HEAD_TIME: Final = 10.0
"""Seconds in which a head must have come, from when the connection was opened or the head began."""

FIELD_BYTES: Final = len(": \r\n")
"""What a header has beside its name and its value."""

AT_ONCE: Final = struct.pack("ii", 1, 0)
"""Lingering for no time: what was not sent is forgotten, and the other end is told so."""

TOO_LARGE: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: text/plain; charset=utf-8\r\n"
    b"connection: close\r\ncontent-length: 46\r\n\r\nthe request line and the headers are too long\n"
)
TOO_SLOW: Final = (
    b"HTTP/1.1 408 Request Timeout\r\ncontent-type: text/plain; charset=utf-8\r\n"
    b"connection: close\r\ncontent-length: 52\r\n\r\nthe request line and the headers came in too slowly\n"
)


class WebLimits(Struct, frozen=True):
    """What one connection may do."""

    stall_timeout: float
    head_time: float = HEAD_TIME
    max_head_bytes: int = MAX_HEAD_BYTES
    connections: Connections = msgspec.field(default_factory=Connections)
    """All connections of the server."""


def without_upgrade(headers: Sequence[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The headers of a request without those that offer another protocol."""
    kept = [(name, value) for name, value in headers if name not in (b"connection", b"upgrade", b"http2-settings")]
    words = [word.strip() for name, value in headers if name == b"connection" for word in value.split(b",")]
    words = [word for word in words if word.lower() not in (b"", b"upgrade", b"http2-settings")]
    return [*kept, (b"connection", b", ".join(words))] if words else kept


class _Refused(Exception):
    """Stops the parser: the answer is on its way already."""


class Stall:
    """Cuts a connection whose other end has taken nothing for too long, while something waits to be sent."""

    def __init__(self, transport: asyncio.Transport, timeout: float) -> None:
        self._transport = transport
        self._timeout = timeout
        self._waiting = 0
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """From now on somebody waits for it."""
        self.end()
        self._waiting = self._transport.get_write_buffer_size()
        self._timer = asyncio.get_running_loop().call_later(self._timeout, self._look)

    def end(self) -> None:
        """It reads again, or it is gone."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        if self._transport.get_write_buffer_size() < self._waiting:
            self.begin()  # it is slow, and it reads
            return
        logger.info("cut a connection that took nothing for %g s", self._timeout)
        if (opened := self._transport.get_extra_info("socket")) is not None:
            # Else the kernel would go on trying to get rid of some megabytes.
            opened.setsockopt(SOL_SOCKET, SO_LINGER, AT_ONCE)
        self._transport.abort()


class StallWatched(asyncio.Protocol):
    """A connection whose other end must read. To be mixed into uvicorn's."""

    _stall: Stall | None = None

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over."""
        if self._stall is not None:
            self._stall.end()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """More waits to be sent than the other end takes."""
        super().pause_writing()
        if self._stall is not None:
            self._stall.begin()

    def resume_writing(self) -> None:
        """It has taken most of it."""
        super().resume_writing()
        if self._stall is not None:
            self._stall.end()


class LimitedHttp(StallWatched, HttpToolsProtocol):
    """One HTTP connection."""

    def __init__(self, *args: Any, limits: WebLimits, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._limits = limits
        self._head_bytes = 0
        self._head_began = False
        self._awaits_head = False
        self._in_body = False
        self._head_timer: asyncio.TimerHandle | None = None
        self._earlier: list[RequestResponseCycle] = []
        self._read = b""
        self.when_lost: dict[object, Callable[[], None]] = {}
        """What the requests on it do when it is over."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody calls."""
        super().connection_made(transport)
        if (opened := transport.get_extra_info("socket")) is not None and opened.family in (AF_INET, AF_INET6):
            # asyncio does this only for sockets that name their protocol. Without it, the body of each answer waits
            # 40 ms for the client to acknowledge its head.
            opened.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
        self._stall = Stall(transport, self._limits.stall_timeout)
        self._await_head()
        self._start_head_timer()
        self._limits.connections.opened(transport)

    def admitted(self) -> None:
        """A request on it may use the server."""
        self._limits.connections.admitted(self.transport)

    def close(self) -> None:
        """End it, with whatever is on its way."""
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over, for every request on it."""
        self._limits.connections.closed(self.transport)
        self._head_came()
        for cycle in self._earlier:
            cycle.disconnected = True
            cycle.message_event.set()
        for call in [*self.when_lost.values()]:
            call()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count what belongs to a head, and read on."""
        cycle: RequestResponseCycle | None = self.cycle
        if not self._awaits_head and (cycle is None or cycle.response_complete):
            self._await_head()
        # The rest of a body whose request was answered before it was read has the same time, and any length.
        if self._awaits_head and not self._in_body:
            if self._head_bytes > self._limits.max_head_bytes:
                self._refuse(TOO_LARGE)
                return
            self._head_bytes += len(data)
        self._read = data
        super().data_received(data)
        self._read = b""
        if self._awaits_head:  # nearly every head is here at once, and needs no timer
            self._start_head_timer()

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        super().on_message_begin()
        if not self._awaits_head:
            self._await_head()
        self._head_began = True

    def on_headers_complete(self) -> None:
        """The head is there."""
        if self._ignores_upgrade():
            return
        self._head_came()
        self._in_body = True
        if self._is_head_too_long():
            self._refuse(TOO_LARGE)
            raise _Refused
        if self.cycle is not None:
            self._earlier = [cycle for cycle in (*self._earlier, self.cycle) if not cycle.response_complete]
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The body is there, too."""
        if self._ignores_upgrade():
            return
        self._in_body = False
        self.scope[WHOLE_BODY] = True  # type: ignore[typeddict-unknown-key]
        super().on_message_complete()

    def timeout_keep_alive_handler(self) -> None:
        """Nobody has used it for a while."""
        super().timeout_keep_alive_handler()
        self._watch_the_end()

    def on_response_complete(self) -> None:
        """It may have been the last."""
        super().on_response_complete()
        self._watch_the_end()

    def send_400_response(self, msg: str) -> None:
        """What came is no HTTP, unless it was us who stopped reading."""
        if not self.transport.is_closing():
            super().send_400_response(msg)

    def _is_head_too_long(self) -> bool:
        limit = self._limits.max_head_bytes
        # Nearly every head came in one read, which was not as long as a head may be.
        if self._head_bytes + len(self._read) <= limit:
            return False
        return sum(len(name) + len(value) + FIELD_BYTES for name, value in self.headers) + len(self.url) > limit

    def _ignores_upgrade(self) -> bool:
        """The client offers another protocol, such as h2c: the request is read again without that offer."""
        is_offer = self.parser.should_upgrade() and self.parser.get_method() != b"CONNECT"
        return is_offer and not self._should_upgrade()

    def _unsupported_upgrade_warning(self) -> None:
        # The parser takes what follows the head for the other protocol. HTTP says that an offer may be ignored, and
        # Java's client makes it with every first request.
        stopped = sys.exc_info()[1]
        if not self._ignores_upgrade() or not isinstance(stopped, httptools.HttpParserUpgrade):
            return
        line = b"%b %b HTTP/1.1\r\n" % (self.parser.get_method(), self.url)
        fields = b"".join(b"%b: %b\r\n" % field for field in without_upgrade(self.headers))
        self._read = line + fields + b"\r\n" + self._read[stopped.args[0] :]
        self.parser = httptools.HttpRequestParser(self)
        super().data_received(self._read)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        cycle.scope[CONNECTION] = self  # type: ignore[typeddict-unknown-key]
        # Something is written before a head that is asked for with 100-continue, and nothing after one without a body.
        if not cycle.waiting_for_100_continue and cycle.scope["method"] != "HEAD":
            cycle.transport = HeldHead(self.transport)  # type: ignore[assignment]
            cycle.scope[WHOLE_ANSWER] = partial(send_whole, cycle)  # type: ignore[typeddict-unknown-key]
        super()._start_asgi_task(cycle, app)

    def _watch_the_end(self) -> None:
        """A connection is closed when everything is sent, which may be never."""
        if self._stall is not None and self.transport.is_closing() and self.transport.get_write_buffer_size():
            self._stall.begin()

    def _await_head(self) -> None:
        self._head_bytes = 0
        self._head_began = False
        self._awaits_head = True

    def _start_head_timer(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(self._limits.head_time, self._head_late)

    def _head_late(self) -> None:
        # Who has not begun to ask gets no answer.
        self._refuse(TOO_SLOW if self._head_began else b"")

    def _head_came(self) -> None:
        self._awaits_head = False
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _refuse(self, answer: bytes) -> None:
        self._head_came()
        if not self.transport.is_closing():
            self.transport.write(answer)
            self.transport.close()


class LimitedSocket(StallWatched, WebSocketsSansIOProtocol):
    """One WebSocket."""

    def __init__(self, *args: Any, limits: WebLimits, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._limits = limits
        self.when_lost: dict[object, Callable[[], None]] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection was an HTTP one until now."""
        super().connection_made(transport)
        self._stall = Stall(self.transport, self._limits.stall_timeout)

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over."""
        self._limits.connections.closed(self.transport)
        super().connection_lost(exc)

    def admitted(self) -> None:
        """Whoever is at the other end may use the server."""
        self._limits.connections.admitted(self.transport)

    def close(self) -> None:
        """End it."""
        self.transport.close()

    async def run_asgi(self) -> None:
        """Serve it, with what the application may do with it."""
        self.scope[CONNECTION] = self  # type: ignore[typeddict-unknown-key]
        await super().run_asgi()
