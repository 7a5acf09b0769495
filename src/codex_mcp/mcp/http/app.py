"""The HTTP side of the server as an ASGI application: access control, then the endpoint that the path names."""

from __future__ import annotations

import logging
import math
import re
import time
from typing import Final

import msgspec

from codex_mcp.access.access_control import AccessControl
from codex_mcp.access.cluster import CONTROL
from codex_mcp.access.gate import CROSS_SITE, OWN_SITE, Rejected
from codex_mcp.access.rates import Rates
from codex_mcp.base.settings.http import HttpSettings
from codex_mcp.mcp.http.bus_endpoint import SESSION_HEADER, BusEndpoint
from codex_mcp.mcp.http.endpoint import HANG_UP, RETRY_LATER, Refusal, refusal
from codex_mcp.mcp.http.grants import Grants
from codex_mcp.mcp.http.hops import Hops
from codex_mcp.mcp.http.hub import Hub
from codex_mcp.mcp.http.mcp_endpoint import McpEndpoint
from codex_mcp.mcp.http.metrics import CONTENT_TYPE, Metrics
from codex_mcp.mcp.http.ws_endpoint import accept_socket, serve_socket, socket_rules
from codex_mcp.mcp.pages import Pages, is_page
from codex_mcp.transports.http import (
    JSON,
    TEXT,
    Disconnected,
    Header,
    HttpExchange,
    Receive,
    Scope,
    Send,
)

logger = logging.getLogger(__name__)

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

CROWDED: Final = "Service Unavailable: you have too many connections, and all are in use; close one, or try again later"

URL_HOST: Final = re.compile(r"[\w.:\[\]-]+")
"""A Host that is safe inside a URL and a quoted string."""


class HttpApp:
    def __init__(
        self,
        hub: Hub,
        access: AccessControl,
        metrics: Metrics | None,
        settings: HttpSettings,
        pages: Pages | None = None,
    ) -> None:
        self._hub = hub
        self._hops: Hops | None = None
        self._pages = pages
        self._access = access
        self._metrics = metrics
        # Without tokens all clients are the same principal, and one would be throttled for what another does.
        self._rates = Rates(0 if access.open_to_all else settings.requests_per_second)
        self.grants = Grants(access)
        self._rules = socket_rules(settings)
        self._bus = BusEndpoint(hub, settings)
        self._mcp = McpEndpoint(hub, self._bus, settings)

    def admit_servers(self, hops: Hops) -> None:
        """Other servers of the cluster may connect from now on."""
        self._hops = hops

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        http = HttpExchange(scope, receive, send)
        serve = self._socket if http.offers_socket else self._http
        await serve(http)

    async def _http(self, http: HttpExchange) -> None:
        began = time.perf_counter()
        try:
            if self._pages is not None and _is_for_people(http):
                await _check_peer(http)
                await self._pages.serve(http)
            else:
                await self._route(http)
        except Refusal as exc:
            if not http.started:
                await http.respond(exc.status, exc.body, JSON, *exc.headers)
        except Disconnected:
            logger.debug("a client disconnected before it had sent its whole request")
        if self._metrics is not None:
            endpoint = http.path if http.path in ("/", "/mcp") else "other"
            self._metrics.answered(endpoint, http.status, time.perf_counter() - began)

    async def _route(self, http: HttpExchange) -> None:
        headers = http.headers
        if headers.get("sec-fetch-site") not in OWN_SITE and headers.get("origin") not in self._access.origins:
            raise refusal(403, CROSS_SITE)
        if http.path == "/healthz":
            await http.respond(200, b"ok\n", TEXT)
            return
        await _check_peer(http)
        origin = headers.get("origin", "")
        if origin in self._access.origins:
            http.extra_headers.extend(
                [
                    (b"access-control-allow-origin", origin.encode("latin-1")),
                    (b"access-control-expose-headers", b"mcp-session-id"),
                    (b"vary", b"origin"),
                ]
            )
            if http.method == "OPTIONS":
                await http.respond(204, b"", *CORS_HEADERS)
                return
        if http.path in (METADATA, f"{METADATA}/mcp") and self._access.authorization_servers:
            await self._resource_metadata(http)
            return
        verdict = self._access.admit(headers, http.client)
        if isinstance(verdict, Rejected):
            raise refusal(verdict.status, verdict.why, *self._rejection_headers(verdict.status, http))
        if http.connection is not None and not http.connection.admitted(verdict.principal):
            raise refusal(503, CROWDED, RETRY_LATER, HANG_UP)
        if self._access.open_to_all:
            await self._serve(http, verdict.principal)
            return
        grant = self.grants.hold(headers, verdict, http.hang_up)
        try:
            await self._serve(http, verdict.principal)
        finally:
            self.grants.release(grant)

    def _rejection_headers(self, status: int, http: HttpExchange) -> list[Header]:
        match status:
            case 401:
                return [(b"www-authenticate", self._challenge(http))]
            case 429:
                return [RETRY_LATER, HANG_UP]
            case _:
                return []

    async def _serve(self, http: HttpExchange, principal: str) -> None:
        await self._hub.learn_if_ended(principal, http.headers.get(SESSION_HEADER))
        match http.path:
            case "/mcp" | "/mcp/":
                self._throttle(principal)
                await self._mcp.serve(http, principal)
            case "/":
                self._throttle(principal)
                await self._bus.serve(http, principal)
            case "/readyz":
                ready = not self._hub.closing
                await http.respond(200 if ready else 503, b"ready\n" if ready else b"stopping\n", TEXT)
            case "/metrics" if self._metrics is not None:
                of_sessions = self._metrics.sessions_of(principal) if http.query == b"sessions=1" else b""
                await http.respond(200, self._metrics.text() + of_sessions, (b"content-type", CONTENT_TYPE))
            case _:
                raise refusal(404, "Not Found: the endpoints are /mcp, / and /ws")

    def _throttle(self, principal: str) -> None:
        seconds = self._rates.taken(principal, time.monotonic())
        if seconds > 0:
            why = f"Too Many Requests: at most {self._rates.per_second:g} per second; try again later"
            raise refusal(429, why, (b"retry-after", str(math.ceil(seconds)).encode()))

    def _challenge(self, http: HttpExchange) -> bytes:
        """How to authenticate. For signed tokens it contains the address where clients learn the issuer."""
        if not self._access.authorization_servers or not URL_HOST.fullmatch(http.headers.get("host", "")):
            return b"Bearer"
        return f'Bearer resource_metadata="{_address(http)}{METADATA}/mcp"'.encode()

    async def _resource_metadata(self, http: HttpExchange) -> None:
        page = {
            "resource": f"{_address(http)}/mcp",
            "authorization_servers": self._access.authorization_servers,
            "bearer_methods_supported": ["header"],
        }
        await http.respond(200, msgspec.json.encode(page), JSON)

    async def _socket(self, http: HttpExchange) -> None:
        connection = http.connection
        is_refused = connection is not None and await connection.why_refused() is not None
        if http.path == CONTROL and self._hops is not None and not is_refused:
            await self._hops.serve(http)
            return
        verdict = self._access.admit(http.headers, http.client)
        if is_refused or isinstance(verdict, Rejected) or http.path != "/ws":
            await http.respond(403)
            return
        principal = verdict.principal
        if connection is not None and not connection.admitted(principal):
            await http.respond(403)
            return
        await self._hub.learn_if_ended(principal, http.headers.get(SESSION_HEADER))
        joined = await accept_socket(
            http, self._rules, lambda session_id: self._bus.session(session_id, principal, http.client)
        )
        if joined is None:
            return
        session, socket = joined
        grant = self.grants.hold(http.headers, verdict, socket.close)
        try:
            await serve_socket(
                session,
                socket,
                lambda: self._rates.taken(principal, time.monotonic()),
                lambda: self.grants.still_holds(grant),
            )
        finally:
            self.grants.release(grant)


async def _check_peer(http: HttpExchange) -> None:
    """Raises Refusal for a process that an agent started."""
    if http.connection is not None and (why := await http.connection.why_refused()) is not None:
        raise refusal(403, why, HANG_UP)


def _is_for_people(http: HttpExchange) -> bool:
    """Whether a browser shows the answer as a page: `/` belongs to MCP, but a person may type it."""
    if is_page(http.path):
        return True
    is_typed = http.method == "GET" and http.path == "/" and SESSION_HEADER not in http.headers
    return is_typed and http.headers.get("sec-fetch-dest") == "document" and "authorization" not in http.headers


def _address(http: HttpExchange) -> str:
    """The server's address as the client knows it. A TLS proxy tells its scheme; a client that lies harms itself."""
    forwarded = http.headers.get("x-forwarded-proto", "")
    scheme = forwarded if forwarded in ("http", "https") else http.scheme
    return f"{scheme}://{http.headers.get('host', '')}"
