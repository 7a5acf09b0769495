"""Limits that uvicorn lacks: the size and time of a request head, and how long a client may read nothing.

uvicorn's HTTP parser accepts heads of any length, a connection may stay silent from its first byte, and a client that
does not read keeps its connection, its answer and its stream forever. uvicorn also reports a lost connection only to
its last request, which is the wrong one if a client pipelines requests.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Sequence
from functools import partial
from socket import AF_INET, AF_INET6, IPPROTO_TCP, TCP_NODELAY
from typing import Any, Final

import httptools
import msgspec
from msgspec import Struct
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from codex_mcp.access.peers import Peers
from codex_mcp.transports.budgets import Rank, Use
from codex_mcp.transports.connections import Connections, Stall
from codex_mcp.transports.http import (
    CONNECTION,
    UPGRADE,
    WHOLE_ANSWER,
    WHOLE_BODY,
    Header,
    HttpExchange,
    Listening,
)
from codex_mcp.transports.response_writes import HeldHead, send_whole
from codex_mcp.transports.websockets.accepted import handshake
from codex_mcp.transports.websockets.socket import Socket, SocketRules

logger = logging.getLogger(__name__)

MAX_HEAD_BYTES: Final = 64 * 1024
"""Request line and headers. A session id has a few hundred bytes, a signed token a few thousand."""

MOST_PIPELINED: Final = 64
"""Requests that a client sends before the first is answered. They are short: thousands of them come in one read, and
each takes a kilobyte of memory for as long as the client reads nothing."""

HEAD_TIME: Final = 10.0
"""Seconds for a head, from when the connection was opened or the head began."""

FIELD_BYTES: Final = len(": \r\n")
"""The bytes of a header besides its name and value."""

LONG_OUTPUT: Final = 256 * 1024
"""Unread bytes of one connection from which they are counted. Streams write less at once: only long answers are."""

TOO_LARGE: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: text/plain; charset=utf-8\r\n"
    b"connection: close\r\ncontent-length: 46\r\n\r\nthe request line and the headers are too long\n"
)
TOO_SLOW: Final = (
    b"HTTP/1.1 408 Request Timeout\r\ncontent-type: text/plain; charset=utf-8\r\n"
    b"connection: close\r\ncontent-length: 52\r\n\r\nthe request line and the headers came in too slowly\n"
)


class WebLimits(Struct, frozen=True):
    stall_timeout: float
    head_time: float = HEAD_TIME
    max_head_bytes: int = MAX_HEAD_BYTES
    connections: Connections = msgspec.field(default_factory=Connections)
    peers: Peers | None = None
    """Refuses processes that agents started; None serves everyone."""


def without_upgrade(headers: Sequence[Header]) -> list[Header]:
    """The headers of a request without the offer to switch to another protocol."""
    kept = [(name, value) for name, value in headers if name not in (b"connection", b"upgrade", b"http2-settings")]
    words = [word.strip() for name, value in headers if name == b"connection" for word in value.split(b",")]
    words = [word for word in words if word.lower() not in (b"", b"upgrade", b"http2-settings")]
    return [*kept, (b"connection", b", ".join(words))] if words else kept


def _lines(headers: Sequence[Header]) -> bytes:
    """The rest of a head with these."""
    return b"".join([b"%b: %b\r\n" % field for field in headers] + [b"\r\n"])


class _Refused(Exception):
    """Stops the parser: the request has been answered already."""


class LimitedHttp(HttpToolsProtocol):
    def __init__(self, *args: Any, limits: WebLimits, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._limits = limits
        self._stall: Stall | None = None
        self._principal: str | None = None
        self._checked: asyncio.Future[str | None] | None = None
        self._offer = b""
        """The head of a request that offers to become a WebSocket, until it is decided."""
        self._behind_offer = b""
        self._head_bytes = 0
        self._head_began = False
        self._awaits_head = False
        self._in_body = False
        self._body_came = False
        """With the last read."""
        self._beside_body = 0
        """Bytes of trailers and chunk extensions, which nobody here wants, since there was a piece of the body."""
        self._head_timer: asyncio.TimerHandle | None = None
        self._earlier: list[RequestResponseCycle] = []
        self._read = b""
        self._body_bytes = 0
        self.when_lost: dict[HttpExchange, Callable[[], None]] = {}
        """By request: what to call if the connection is lost before the client has taken the whole answer."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if (opened := transport.get_extra_info("socket")) is not None and opened.family in (AF_INET, AF_INET6):
            # asyncio does this only for sockets with an explicit protocol. Without it, the body of each answer waits
            # 40 ms for the client to acknowledge the head.
            opened.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
        self._stall = Stall(transport, self._limits.stall_timeout)
        self._await_head()
        self._start_head_timer()
        self._limits.connections.opened(transport, self)

    def use(self) -> Use:
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is None or cycle.response_complete:
            timer = self.timeout_keep_alive_task
            return Use(Rank.IDLE, 0.0 if timer is None else timer.when())
        return Use(Rank.QUIET if cycle.response_started and cycle.scope["method"] == "GET" else Rank.BUSY)

    def why_refused(self) -> asyncio.Future[str | None]:
        """Checked with the first request of the connection; all later ones get the same answer."""
        if self._checked is None:
            names = [self.transport.get_extra_info(name) for name in ("peername", "sockname")]
            peers = self._limits.peers
            self._checked = asyncio.get_running_loop().create_future() if peers is None else peers.check(*names)
            if peers is None:
                self._checked.set_result(None)
        return asyncio.shield(self._checked)

    def admitted(self, principal: str) -> bool:
        if principal == self._principal:
            return True
        self._principal = principal
        return self._limits.connections.admitted(self.transport, principal)

    def holds(self, size: int) -> bool:
        self._body_bytes = size
        return self._holds(self.held_bytes() if size else 0)

    def _holds(self, size: int) -> bool:
        return self._limits.connections.holds(self.transport, self._principal or "", size)

    def held_bytes(self) -> int:
        """Of input that is not complete and of output that is not read."""
        return self._body_bytes + self.transport.get_write_buffer_size()

    def close(self) -> None:
        self.transport.close()

    def abort(self) -> None:
        self.transport.abort()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._stall is not None:
            self._stall.begin()
        self._count_output()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stall is not None:
            self._stall.end()
        self._count_output()

    def _count_output(self) -> None:
        held = self.held_bytes()
        if not self._holds(held if held >= LONG_OUTPUT else 0):
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_came()
        for cycle in self._earlier:
            cycle.disconnected = True
            cycle.message_event.set()
        # A client that has read everything closes its connection; unread bytes make its system reset it.
        is_clean = exc is None and not (self._stall is not None and self._stall.is_over)
        for exchange, call in [*self.when_lost.items()]:
            if not (is_clean and exchange.is_written):
                call()
        self.when_lost.clear()
        self._limits.connections.closed(self.transport)
        if self._stall is not None:
            self._stall.end()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._offer:
            self._behind_offer += data
            if len(self._behind_offer) > self._limits.max_head_bytes:
                self.transport.pause_reading()
            return
        cycle: RequestResponseCycle | None = self.cycle
        if not self._awaits_head and (cycle is None or cycle.response_complete):
            self._await_head()
        # The unread rest of a body whose request was answered already has the same time limit, and no size limit.
        if self._awaits_head and not self._in_body:
            if self._head_bytes > self._limits.max_head_bytes:
                self._refuse(TOO_LARGE)
                return
            self._head_bytes += len(data)
        self._read = data
        was_in_body, self._body_came = self._in_body, False
        super().data_received(data)
        self._read = b""
        if was_in_body and self._in_body and not self._body_came:
            self._count_beside_body(len(data))
        if self._awaits_head:  # nearly every head arrives in one read and needs no timer
            self._start_head_timer()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if not self._awaits_head:
            self._await_head()
        self._head_began = True

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._in_body:
            super().on_header(name, value)
        elif not self._count_beside_body(len(name) + len(value) + FIELD_BYTES):
            raise _Refused

    def on_body(self, body: bytes) -> None:
        self._body_came = True
        self._beside_body = 0
        super().on_body(body)

    def _count_beside_body(self, size: int) -> bool:
        """Whether there may be so many more; otherwise the connection is ended. The parser would keep all of them."""
        self._beside_body += size
        if self._beside_body > self._limits.max_head_bytes:
            self.transport.abort()
        return self._beside_body <= self._limits.max_head_bytes

    def on_headers_complete(self) -> None:
        if self._ignores_upgrade():
            return
        self._head_came()
        self._in_body = True
        self._beside_body = 0
        if self.when_lost:  # a client that sends another request has read the answers before it
            self.when_lost = {each: call for each, call in self.when_lost.items() if not each.is_written}
        if self._is_head_too_long():
            self._refuse(TOO_LARGE)
            raise _Refused
        if len(self.pipeline) >= MOST_PIPELINED:
            self.transport.abort()
            raise _Refused
        if self.cycle is not None:
            self._earlier = [cycle for cycle in (*self._earlier, self.cycle) if not cycle.response_complete]
        super().on_headers_complete()
        if self._offer:
            self.scope[UPGRADE] = partial(self._accept, self.cycle)  # type: ignore[typeddict-unknown-key]

    def on_message_complete(self) -> None:
        if self._ignores_upgrade():
            return
        self._in_body = False
        self.scope[WHOLE_BODY] = True  # type: ignore[typeddict-unknown-key]
        super().on_message_complete()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._watch_the_end()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch_the_end()

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP, unless parsing stopped because of a limit."""
        if not self.transport.is_closing():
            super().send_400_response(msg)

    def _is_head_too_long(self) -> bool:
        limit = self._limits.max_head_bytes
        # Nearly every head arrives in one read that is shorter than the limit.
        if self._head_bytes + len(self._read) <= limit:
            return False
        return sum(len(name) + len(value) + FIELD_BYTES for name, value in self.headers) + len(self.url) > limit

    def _ignores_upgrade(self) -> bool:
        """The client offers another protocol, such as h2c: the request is parsed again without that offer."""
        return bool(self.parser.should_upgrade() and self.parser.get_method() != b"CONNECT")

    def _unsupported_upgrade_warning(self) -> None:
        # The parser takes the bytes after the head for the other protocol. HTTP allows a server to ignore the offer,
        # and Java's client makes it with every first request. A WebSocket begins when the application accepts it.
        stopped = sys.exc_info()[1]
        if not self._ignores_upgrade() or not isinstance(stopped, httptools.HttpParserUpgrade):
            return
        line, behind = b"%b %b HTTP/1.1\r\n" % (self.parser.get_method(), self.url), self._read[stopped.args[0] :]
        kept = without_upgrade(self.headers)
        if self._get_upgrade() == b"websocket":
            self._offer, self._behind_offer, behind = line + _lines(self.headers), behind, b""
        self._read = line + _lines(kept) + behind
        self.parser = httptools.HttpRequestParser(self)
        super().data_received(self._read)

    def _accept(
        self,
        cycle: RequestResponseCycle,
        rules: SocketRules,
        listen: Callable[[Socket], Listening],
        headers: Sequence[Header],
    ) -> Listening | None:
        """The connection becomes a WebSocket. None: it is lost, or what was offered is none."""
        if cycle.disconnected or self.transport.is_closing():
            return None
        cycle.response_started = cycle.response_complete = True
        library, answer = handshake(self._offer, rules, headers)
        self.transport.write(answer)
        if library is None:
            self.transport.close()
            return None
        self._leave_http()
        accepted = Socket(library, rules, self._limits.connections, self._principal or "")
        self.connections.add(accepted)  # type: ignore[arg-type]  # it has what uvicorn needs to shut it down
        listening = listen(accepted)
        accepted.start(self.transport, listening, self._behind_offer, partial(self.connections.discard, accepted))
        return listening

    def _leave_http(self) -> None:
        self._head_came()
        self._unset_keepalive_if_required()
        self.connections.discard(self)
        if self._stall is not None:
            self._stall.end()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        cycle.scope[CONNECTION] = self  # type: ignore[typeddict-unknown-key]
        # For 100-continue something is written before the head; after the head of an answer to HEAD, nothing is.
        if not cycle.waiting_for_100_continue and cycle.scope["method"] != "HEAD":
            cycle.transport = HeldHead(self.transport)  # type: ignore[assignment]
            cycle.scope[WHOLE_ANSWER] = partial(send_whole, cycle)  # type: ignore[typeddict-unknown-key]
        super()._start_asgi_task(cycle, app)

    def _watch_the_end(self) -> None:
        """A connection that closes waits until everything is sent, which may be never."""
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
        # A client that has sent nothing gets no answer.
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
