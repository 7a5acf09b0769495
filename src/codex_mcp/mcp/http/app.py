"""The HTTP side of the server as an ASGI application: the gate, then the door that the path names."""

from __future__ import annotations

import contextlib
import logging
import math
import re
import time
from collections.abc import MutableMapping
from functools import partial
from typing import Any, Final

import msgspec

from codex_mcp.base.settings.groups import Settings
from codex_mcp.mcp.http.access.gate import CROSS_SITE, OWN_SITE, Admitted, Rejected
from codex_mcp.mcp.http.access.grants import Grant, Grants
from codex_mcp.mcp.http.access.rates import Rates
from codex_mcp.mcp.http.access.token_checks import Doorkeeper
from codex_mcp.mcp.http.bus_endpoint import Bus
from codex_mcp.mcp.http.endpoint import HANG_UP, RETRY_LATER, Refusal, refusal
from codex_mcp.mcp.http.hub import Hub, HubSession
from codex_mcp.mcp.http.mcp_endpoint import McpDoor
from codex_mcp.mcp.http.metrics import CONTENT_TYPE, Metrics
from codex_mcp.mcp.http.ws_endpoint import serve_socket
from codex_mcp.transports.http import (
    CONNECTION,
    JSON,
    TEXT,
    Connection,
    Disconnected,
    Header,
    HttpExchange,
    Receive,
    Scope,
    Send,
    header_map,
)

logger = logging.getLogger(__name__)

WS_REFUSED: Final = 1008

NO_LONGER_VALID: Final = "the token is no longer valid"

CORS_HEADERS: Final[tuple[Header, ...]] = (
    (b"access-control-allow-methods", b"GET, POST, DELETE"),
    (
        b"access-control-allow-headers",
        b"authorization, content-type, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id, "
        b"x-mcp-post-stream",
    ),
    (b"access-control-max-age", b"600"),
)


METADATA: Final = "/.well-known/oauth-protected-resource"

URL_HOST: Final = re.compile(r"[\w.:\[\]-]+")
"""A Host that can stand in an address and in a quoted text."""


class HttpApp:
    """One server's doors."""

    def __init__(self, hub: Hub, doorkeeper: Doorkeeper, metrics: Metrics | None, settings: Settings) -> None:
        self._hub = hub
        self._doorkeeper = doorkeeper
        self._metrics = metrics
        # Where everybody is the same principal, one would be held back for what another does.
        self._rates = Rates(0 if doorkeeper.open_to_all else settings.requests_per_second)
        self.grants = Grants(doorkeeper)
        self._bus = Bus(hub, settings)
        self._mcp = McpDoor(hub, self._bus, settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request or one socket."""
        if scope["type"] == "http":
            await self._http(HttpExchange(scope, receive, send))
        elif scope["type"] == "websocket":
            await self._socket(scope, receive, send)

    async def _http(self, http: HttpExchange) -> None:
        began = time.perf_counter()
        try:
            await self._routed(http)
        except Refusal as exc:
            if not http.started:
                await http.respond(exc.status, exc.body, JSON, *exc.headers)
        except Disconnected:
            logger.debug("a client went away before it had said everything")
        if self._metrics is not None:
            door = http.path if http.path in ("/", "/mcp") else "other"
            self._metrics.answered(door, http.status, time.perf_counter() - began)

    async def _routed(self, http: HttpExchange) -> None:
        headers = http.headers
        if headers.get("sec-fetch-site") not in OWN_SITE and headers.get("origin") not in self._doorkeeper.origins:
            raise refusal(403, CROSS_SITE)
        if http.path == "/healthz":
            await http.respond(200, b"ok\n", TEXT)
            return
        origin = headers.get("origin", "")
        if origin in self._doorkeeper.origins:
            http.extra_headers += [
                (b"access-control-allow-origin", origin.encode("latin-1")),
                (b"access-control-expose-headers", b"mcp-session-id"),
                (b"vary", b"origin"),
            ]
            if http.method == "OPTIONS":
                await http.respond(204, b"", *CORS_HEADERS)
                return
        if http.path in (METADATA, f"{METADATA}/mcp") and self._doorkeeper.authorization_servers:
            await self._resource_metadata(http)
            return
        verdict = self._doorkeeper.admit(headers, http.client)
        if isinstance(verdict, Rejected):
            raise refusal(verdict.status, verdict.why, *self._rejected_with(verdict.status, http))
        if http.connection is not None:
            http.connection.admitted()
        if self._doorkeeper.open_to_all:
            await self._admitted(http, verdict)
            return
        grant = self.grants.hold(headers, verdict, partial(_close, http.connection))
        try:
            await self._admitted(http, verdict)
        finally:
            self.grants.release(grant)

    def _rejected_with(self, status: int, http: HttpExchange) -> list[Header]:
        """Headers that go with a rejection."""
        match status:
            case 401:
                return [(b"www-authenticate", self._challenge(http))]
            case 429:
                return [RETRY_LATER, HANG_UP]
            case _:
                return []

    async def _admitted(self, http: HttpExchange, verdict: Admitted) -> None:
        match http.path:
            case "/mcp" | "/mcp/":
                self._pace(verdict.principal)
                await self._mcp.serve(http, verdict.principal)
            case "/":
                self._pace(verdict.principal)
                await self._bus.serve(http, verdict.principal)
            case _:
                await self._own_page(http, verdict.principal)

    def _pace(self, principal: str) -> None:
        seconds = self._rates.taken(principal, time.monotonic())
        if seconds > 0:
            why = f"Too Many Requests: at most {self._rates.per_second:g} in a second, come again later"
            raise refusal(429, why, (b"retry-after", str(math.ceil(seconds)).encode()))

    async def _own_page(self, http: HttpExchange, principal: str) -> None:
        if http.path == "/readyz":
            ready = not self._hub.closing
            await http.respond(200 if ready else 503, b"ready\n" if ready else b"stopping\n", TEXT)
        elif http.path == "/metrics" and self._metrics is not None:
            page = self._metrics.text() + (self._metrics.sessions_of(principal) if http.query == b"sessions=1" else b"")
            await http.respond(200, page, (b"content-type", CONTENT_TYPE))
        else:
            raise refusal(404, "Not Found: the doors are /mcp, / and /ws")

    def _challenge(self, http: HttpExchange) -> bytes:
        """How to get in; where tokens are signed, clients learn by whom at the address in it."""
        if not self._doorkeeper.authorization_servers or not URL_HOST.fullmatch(http.headers.get("host", "")):
            return b"Bearer"
        return f'Bearer resource_metadata="{_address(http)}{METADATA}/mcp"'.encode()

    async def _resource_metadata(self, http: HttpExchange) -> None:
        page = {
            "resource": f"{_address(http)}/mcp",
            "authorization_servers": self._doorkeeper.authorization_servers,
            "bearer_methods_supported": ["header"],
        }
        await http.respond(200, msgspec.json.encode(page), JSON)

    async def _socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = header_map(scope["headers"])
        address: str = scope["client"][0] if scope.get("client") else ""
        verdict = self._doorkeeper.admit(headers, address)
        if isinstance(verdict, Rejected) or scope["path"] != "/ws":
            await receive()
            await send({"type": "websocket.close", "code": WS_REFUSED})
            return
        if (connection := scope.get(CONNECTION)) is not None:
            connection.admitted()
        principal = verdict.principal

        def join(session_id: str | None) -> HubSession:
            return self._bus.session(session_id, principal, address)

        def pace() -> float:
            return self._rates.taken(principal, time.monotonic())

        if self._doorkeeper.open_to_all:
            await serve_socket(scope, receive, send, join, pace)
            return
        socket = RevocableSocket(receive, send, self.grants)
        grant = socket.grant = self.grants.hold(headers, verdict, socket.close)
        try:
            await serve_socket(scope, socket.receive, socket.send, join, pace)
        finally:
            self.grants.release(grant)


class RevocableSocket:
    """A socket that ends with the token by which it was let in: at its next message, or when that is noticed."""

    def __init__(self, receive: Receive, send: Send, grants: Grants) -> None:
        self._receive = receive
        self._send = send
        self._grants = grants
        self._closed = False
        self.grant: Grant | None = None

    async def receive(self) -> MutableMapping[str, Any]:
        """The next message of the client, if its token is still valid."""
        event = await self._receive()
        if event["type"] != "websocket.receive" or self.grant is None or self._grants.still_holds(self.grant):
            return event
        await self.close()
        return {"type": "websocket.disconnect", "code": WS_REFUSED}

    async def send(self, message: MutableMapping[str, Any]) -> None:
        """Send it, unless the socket was closed in the meantime."""
        if not self._closed:
            await self._send(message)

    async def close(self) -> None:
        """Its token is no longer valid."""
        if not self._closed:
            self._closed = True
            with contextlib.suppress(OSError):  # it went by itself
                await self._send({"type": "websocket.close", "code": WS_REFUSED, "reason": NO_LONGER_VALID})


async def _close(connection: Connection | None) -> None:
    if connection is not None:
        connection.close()


def _address(http: HttpExchange) -> str:
    """The address by which the client calls us. A proxy that speaks TLS says so; a lie harms its teller alone."""
    forwarded = http.headers.get("x-forwarded-proto", "")
    scheme = forwarded if forwarded in ("http", "https") else http.scheme
    return f"{scheme}://{http.headers.get('host', '')}"
