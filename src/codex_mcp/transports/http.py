"""One HTTP request and its answer over raw ASGI, with just what the endpoints need."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from codex_mcp.base.tasks import TaskSet
from codex_mcp.transports.websockets.socket import Socket, SocketListener, SocketRules

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]

Header: TypeAlias = tuple[bytes, bytes]

JSON: Final = (b"content-type", b"application/json")
TEXT: Final = (b"content-type", b"text/plain; charset=utf-8")

SSE_HEADERS: Final[Sequence[Header]] = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
)
"""The last two keep proxies from buffering a stream."""


WHOLE_BODY: Final = "codex_mcp.whole_body"
"""In a request's scope as soon as its whole body has arrived."""

CONNECTION: Final = "codex_mcp.connection"
"""In a request's scope: its connection."""

WholeAnswer: TypeAlias = Callable[[int, Sequence[Header], bytes], bool]

WHOLE_ANSWER: Final = "codex_mcp.whole_answer"
"""In a request's scope, if the server supports it: sends status, headers and body in one write, or returns False."""


UPGRADE: Final = "codex_mcp.upgrade"
"""In the scope of a request that offers to become a WebSocket: makes it one."""

Listening = TypeVar("Listening", bound=SocketListener)


class HttpConnection(Protocol):
    """What a request may do with its connection."""

    when_lost: dict[HttpExchange, Callable[[], None]]
    """By request: what to call if the connection is lost before the client has taken the whole answer."""

    def admitted(self, principal: str) -> bool:
        """Its request was let in for this principal. False: there is no room for the connection."""

    def holds(self, size: int) -> bool:
        """So many bytes of an unfinished body are held. False: too many, the request is to be refused."""

    def why_refused(self) -> Awaitable[str | None]:
        """Why nothing on this connection is served; None if its client may use the server."""

    def close(self) -> None:
        """Close the connection, with all requests on it."""

    def abort(self) -> None:
        """Close it without sending what is queued."""


class BodyTooLarge(Exception):
    """The body exceeds the limit."""


class TooMuchHeld(Exception):
    """Too many bytes of unfinished bodies are held."""


class Disconnected(Exception):
    """The client disconnected before it had sent the whole body."""


class HttpExchange:
    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.query: bytes = scope.get("query_string", b"")
        self.scheme: str = scope.get("scheme", "http")
        self.headers = header_map(scope["headers"])
        self.client: str = scope["client"][0] if scope.get("client") else ""
        self.extra_headers: list[Header] = []
        """Sent with every answer."""
        if UPGRADE in scope:
            self.extra_headers.append((b"connection", b"close"))
        self.started = False
        self.is_stream = False
        """The answer is a stream of events."""
        self.is_written = False
        """The whole answer was given to the connection."""
        self.status = 0
        """The status of the answer, once it has begun."""
        self._disconnected: asyncio.Task[None] | None = None
        self.connection: HttpConnection | None = scope.get(CONNECTION)
        self._scope = scope
        self._receive = receive
        self._send = send

    @property
    def body_is_here(self) -> bool:
        return WHOLE_BODY in self._scope

    async def read_body(self, limit: int) -> bytes:
        """Read the whole body. Raises BodyTooLarge, TooMuchHeld or Disconnected."""
        if self.headers.get("content-length", "0").isdigit() and int(self.headers.get("content-length", "0")) > limit:
            raise BodyTooLarge
        message = await self._receive()
        if not message.get("more_body", False) and message["type"] != "http.disconnect":
            body: bytes = message.get("body", b"")
            if len(body) > limit:
                raise BodyTooLarge
            return body  # nearly every body
        try:
            return await self._read_parts(message, limit)
        finally:
            if self.connection is not None:
                self.connection.holds(0)

    async def _read_parts(self, message: Any, limit: int) -> bytes:
        parts: list[bytes] = []
        size = 0
        while True:
            if message["type"] == "http.disconnect":
                raise Disconnected
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > limit:
                raise BodyTooLarge
            if not message.get("more_body", False):
                return b"".join(parts)
            if self.connection is not None and not self.connection.holds(size):
                raise TooMuchHeld
            message = await self._receive()

    def disconnected(self, tasks: TaskSet) -> asyncio.Task[None]:
        """The task that ends when the client is gone, started in `tasks` at first. To be used after `read_body`."""
        if self._disconnected is None:
            self._disconnected = tasks.spawn(self._wait_disconnected(), name="client's disconnect")
        return self._disconnected

    async def _wait_disconnected(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass

    def when_lost(self, call: Callable[[], None] | None) -> None:
        """Call this if the client goes without having taken the whole answer; None cancels that.

        A client that goes after it has read everything closes its connection; one that leaves bytes unread resets it.
        """
        if self.connection is None:
            return
        if call is None:
            self.connection.when_lost.pop(self, None)
        else:
            self.connection.when_lost[self] = call

    def hang_up(self) -> None:
        """Close the connection, with all requests on it."""
        if self.connection is not None:
            self.connection.close()

    @property
    def offers_socket(self) -> bool:
        """Whether the connection would become a WebSocket (`accept`). Any other answer ends it."""
        return UPGRADE in self._scope

    def accept(self, rules: SocketRules, listen: Callable[[Socket], Listening], *headers: Header) -> Listening | None:
        """Make it a WebSocket with this listener. None: the client is gone, or its offer was not valid."""
        self.started = True
        accepted: Listening | None = self._scope[UPGRADE](rules, listen, headers)
        return accepted

    async def respond(self, status: int, body: bytes = b"", *headers: Header) -> None:
        self.started = True
        self.status = status
        whole: WholeAnswer | None = self._scope.get(WHOLE_ANSWER)
        if whole is None or not whole(status, (*headers, *self.extra_headers), body):
            length = (b"content-length", str(len(body)).encode())
            await self._start(status, [*headers, length])
            await self._send({"type": "http.response.body", "body": body})
        self.is_written = True

    async def start_stream(self, first: bytes = b"") -> None:
        """Begin an answer of server-sent events, perhaps with the first event."""
        self.started = self.is_stream = True
        await self._start(200, list(SSE_HEADERS))
        await self.write(first)

    async def write(self, data: bytes) -> None:
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def end_stream(self, last: bytes = b"") -> None:
        await self._send({"type": "http.response.body", "body": last})
        self.is_written = True

    async def _start(self, status: int, headers: list[Header]) -> None:
        self.status = status
        await self._send({"type": "http.response.start", "status": status, "headers": [*headers, *self.extra_headers]})


def header_map(headers: Sequence[Header]) -> Mapping[str, str]:
    """Headers by lower-case name; several with one name are joined by commas."""
    found = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in headers}
    if len(found) == len(headers):
        return found
    found.clear()
    for raw_name, raw_value in headers:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found
