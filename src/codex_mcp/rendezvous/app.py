"""The HTTP side of a rendezvous, as an ASGI application.

POST /cloud/environment/ID/register    an executor announces itself           token with `register=`
POST /cloud/environment/ID/validate    it asks whether a harness may connect  the token that registered
POST /cloud/environment/ID/connect     a harness asks for a way               token with `reach=`
GET  /environments                     what the token may see
GET  /metrics                          any token
GET  /healthz, /readyz                 no token
WS   /relay/executor/…, /relay/harness/…   the URLs that the registry gave out; they carry their own proof
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
import uuid
from typing import Final, TypeVar
from urllib.parse import unquote

import msgspec
from prometheus_client import CONTENT_TYPE_LATEST

from codex_mcp.base.printable import one_line
from codex_mcp.relay.bodies import (
    BASE,
    MAX_BODY_BYTES,
    NAME_HEADER,
    Connect,
    EnvironmentList,
    Failed,
    Failure,
    Register,
    Validate,
)
from codex_mcp.relay.errors import UNREADABLE
from codex_mcp.rendezvous.access import TokenAccess
from codex_mcp.rendezvous.audit import RelayAudit
from codex_mcp.rendezvous.registry import Asking, Registry, RegistryError
from codex_mcp.rendezvous.relay import CROWDED, Relay
from codex_mcp.transports.connections import INPUT_SECONDS
from codex_mcp.transports.http import (
    JSON,
    TEXT,
    BodyTooLarge,
    Disconnected,
    HttpExchange,
    Receive,
    Scope,
    Send,
    TooMuchHeld,
)

logger = logging.getLogger(__name__)

Body = TypeVar("Body")

REQUEST: Final = re.compile(re.escape(BASE) + r"/([^/]+)/(register|validate|connect)")
SOCKET: Final = re.compile(r"/relay/(executor|harness)/([A-Za-z0-9._-]+)")
HOST: Final = re.compile(r"[A-Za-z0-9.-]+(:\d{1,5})?|\[[0-9A-Fa-f:.]+\](:\d{1,5})?")

NAME_CHARS: Final = 100

LAST_ANSWER: Final = (b"connection", b"close")
"""With the registry's answers. Codex 0.166.0 keeps the HTTP connection. If its network breaks, it asks for a new way
over that one, and gives up its session when this fails: it only tries again if a new connection is refused."""


class RendezvousApp:
    def __init__(self, access: TokenAccess, registry: Registry, relay: Relay, audit: RelayAudit) -> None:
        self._access = access
        self._registry = registry
        self._relay = relay
        self._audit = audit
        self._is_stopping = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        http = HttpExchange(scope, receive, send)
        serve = self._socket if http.offers_socket else self._http
        await serve(http)

    def stop(self) -> None:
        """Refuse new work."""
        self._is_stopping = True

    async def _http(self, http: HttpExchange) -> None:
        found = REQUEST.fullmatch(http.path)
        if found is not None:
            http.extra_headers.append(LAST_ANSWER)
        try:
            await self._route(http, found)
        except RegistryError as exc:
            await http.respond(exc.status, msgspec.json.encode(_failed(exc)), JSON)
        except Disconnected:
            logger.debug("a client disconnected before it had sent its whole request")
        self._relay.metrics.answers[found[2] if found else "other", http.status] += 1

    async def _route(self, http: HttpExchange, found: re.Match[str] | None) -> None:
        if http.path in ("/healthz", "/readyz"):
            is_well = http.path == "/healthz" or not self._is_stopping
            await http.respond(200 if is_well else 503, b"ok\n" if is_well else b"stopping\n", TEXT)
            return
        if "origin" in http.headers:
            raise RegistryError(403, "forbidden", "pages in a browser may not use this server")
        if http.connection is not None and (why := await http.connection.why_refused()) is not None:
            raise RegistryError(403, "forbidden", why)
        principal = self._access.principal(http.headers, http.client)
        if http.connection is not None and not http.connection.admitted(principal):
            http.extra_headers.append(LAST_ANSWER)
            raise RegistryError(503, "crowded", CROWDED)
        if found is not None and http.method == "POST":
            await self._registry_request(http, principal, unquote(found[1]), found[2])
        elif http.path == "/environments" and http.method == "GET":
            listed = self._registry.listed(principal, self._relay.routes.counts())
            await http.respond(200, msgspec.json.encode(EnvironmentList(listed)), JSON)
        elif http.path == "/metrics" and http.method == "GET":
            await http.respond(200, self._relay.metrics.text(), (b"content-type", CONTENT_TYPE_LATEST.encode()))
        else:
            raise RegistryError(404, "not_found", "no such request; see docs/remote.md")

    async def _registry_request(self, http: HttpExchange, principal: str, environment_id: str, what: str) -> None:
        if self._is_stopping:
            raise RegistryError(503, "stopping", "the rendezvous stops; try again in a moment")
        try:
            async with asyncio.timeout(INPUT_SECONDS):
                body = await http.read_body(MAX_BODY_BYTES)
        except BodyTooLarge:
            raise RegistryError(413, "too_large", f"a request has at most {MAX_BODY_BYTES} bytes") from None
        except TooMuchHeld:
            raise RegistryError(503, "crowded", "too many requests are incomplete; try again later") from None
        except TimeoutError:
            raise RegistryError(408, "too_slow", "the body did not arrive in time") from None
        asking = Asking(principal, environment_id, _base(http), time.time())
        try:
            answer = self._answer(asking, what, body, one_line(http.headers.get(NAME_HEADER, ""))[:NAME_CHARS])
        except RegistryError as exc:
            self._audit.note(f"{what}_refused", principal, one_line(environment_id)[:NAME_CHARS], why=exc.code)
            raise
        if what != "validate":
            self._audit.note(what, principal, environment_id)
        await http.respond(200, msgspec.json.encode(answer), JSON)

    def _answer(self, asking: Asking, what: str, body: bytes, name: str) -> object:
        match what:
            case "register":
                return self._registry.register(asking, _decoded(body, Register), str(uuid.uuid4()), name)
            case "validate":
                return self._registry.validate(asking, _decoded(body, Validate))
            case _:
                return self._registry.connect(asking, _decoded(body, Connect))

    async def _socket(self, http: HttpExchange) -> None:
        found = SOCKET.fullmatch(http.path)
        try:
            if found is None:
                raise RegistryError(404, "not_found", "no such socket")
            serve = self._relay.serve_executor if found[1] == "executor" else self._relay.serve_harness
            await serve(found[2], http)
        except RegistryError as exc:
            # A 4xx tells an executor to register again.
            logger.info("refused a relay socket: %s", exc)
            await http.respond(exc.status, msgspec.json.encode(_failed(exc)), JSON)


def _failed(exc: RegistryError) -> Failed:
    return Failed(Failure(exc.code, str(exc)))


def _decoded(body: bytes, kind: type[Body]) -> Body:
    try:
        return msgspec.json.decode(body, type=kind)
    except UNREADABLE as exc:
        raise RegistryError(400, "invalid_request", f"cannot read the request: {exc}") from exc


def _base(http: HttpExchange) -> str:
    """Our address as the client knows it. A TLS proxy tells its scheme; a client that lies harms itself."""
    host = http.headers.get("host", "")
    if not HOST.fullmatch(host):
        raise RegistryError(400, "invalid_request", "the Host header is not a host name")
    forwarded = http.headers.get("x-forwarded-proto", "")
    is_secure = (forwarded if forwarded in ("http", "https") else http.scheme) == "https"
    return f"{'wss' if is_secure else 'ws'}://{host}"
