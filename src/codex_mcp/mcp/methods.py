"""Answers the methods of `method_rows` in both eras of MCP.

A handler takes an `Exchange` and returns the answer, or a coroutine that will. Both eras share the handlers: a
stateless answer adds `resultType`, and cache hints where the specification requires them.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypeVar

import msgspec
from msgspec import Struct, field

from codex_mcp import __version__
from codex_mcp.base.logs import Subject
from codex_mcp.mcp.client import Client
from codex_mcp.mcp.eras import Era, Handshake, OutOfRules, Stateless, era_of
from codex_mcp.mcp.method_rows import cache_hints, is_in_era
from codex_mcp.mcp.schema import catalogue
from codex_mcp.mcp.schema.results import ToolResult
from codex_mcp.mcp.session import LOGGED_CHARS, Session
from codex_mcp.rpc.errors import RequestFailed, invalid_params, request_failed
from codex_mcp.wire import mcp
from codex_mcp.wire.jsonrpc import INVALID_REQUEST, METHOD_NOT_FOUND, Notification, Request

SERVER_NAME: Final = "codex-mcp-server"

Params = TypeVar("Params")


class Exchange(Struct, frozen=True):
    request: Request
    session: Session
    client: Client
    """As it described itself, at the handshake or in this request."""
    capabilities: Mapping[str, object]
    instructions: str = ""
    """The server's description of itself, for a model."""

    @property
    def subject(self) -> Subject:
        return self.session.subject._replace(request=str(self.request.id)[:LOGGED_CHARS])

    def params(self, kind: type[Params]) -> Params:
        return msgspec.json.decode(self.request.params, type=kind)

    def notify(self, method: str, params: object) -> None:
        self.client.notify(method, params, self.request.id)


Handler: TypeAlias = Callable[[Exchange], object]

Around: TypeAlias = Callable[[Session, Request, Callable[[], object]], object]
"""Wraps the handling of every request: calls its last argument and returns the result."""

Logged: TypeAlias = Callable[[Exchange, object, Handler], object]
"""Handles a request with its handler, and sends the client log messages of the given level meanwhile."""

EXTENSIONS: Final = "extensions"
"""A capability that clients of the handshake era do not know."""

INSTRUCTIONS: Final = (
    "Codex coding agents. `codex` starts an agent on a task in a folder and returns its answer and a threadId; "
    "`codex-reply` continues that thread. Several agents can work at once: give each call `background: true`, then "
    "collect the answers with `codex_wait`, which is also what to call when a result says status `running`."
)
"""Clients show this to their model at once; some show the tools' own descriptions only on request."""


class Methods(Struct, frozen=True):
    """The methods of a server; those of the product are put together in `mcp/tools/product.py`."""

    table: Mapping[str, Handler]
    capabilities: Mapping[str, object] = field(default_factory=lambda: {"tools": {}})
    stateless: bool = True
    """Serve stateless requests as well."""
    around: Around | None = None
    instructions: str = INSTRUCTIONS
    logged: Logged | None = None
    """None: there are no log messages for clients."""

    def handle(self, session: Session, request: Request, era: Era | None = None) -> object:
        """Answer a request, or return the coroutine that will. Raises RequestFailed."""
        if self.around is None:
            return self._handled(session, request, era)
        return self.around(session, request, lambda: self._handled(session, request, era))

    def _handled(self, session: Session, request: Request, era: Era | None) -> object:
        if era is None:
            era = era_of(request) if self.stateless else Handshake()
        if isinstance(era, OutOfRules):
            raise RequestFailed(era.error)
        handler = self.table.get(request.method)
        if handler is None or not is_in_era(request.method, stateless=isinstance(era, Stateless)):
            raise not_found(request.method)
        client = session.client
        if isinstance(era, Stateless):
            client = client.stateless(era.client, era.capabilities, era.revision)
        try:
            exchange = Exchange(request, session, client, self.capabilities, self.instructions)
            if isinstance(era, Stateless) and era.log_level is not None and self.logged is not None:
                answer = self.logged(exchange, era.log_level, handler)
            else:
                answer = handler(exchange)
        except msgspec.MsgspecError as exc:
            raise invalid_params(str(exc)) from exc
        if not isinstance(era, Stateless):
            return answer
        if inspect.iscoroutine(answer):
            return _stateless_later(request.method, answer)
        return _stateless(request.method, answer)


def handle_notification(session: Session, message: Notification) -> None:
    """Handle a cancellation or changed roots. Others and unreadable ones are ignored, as JSON-RPC requires."""
    if message.method == "notifications/cancelled":
        try:
            session.cancel(msgspec.json.decode(message.params, type=mcp.Cancelled))
        except msgspec.MsgspecError:
            return
    elif message.method == "notifications/roots/list_changed":
        session.roots_changed()


def not_found(method: str) -> RequestFailed:
    return request_failed(METHOD_NOT_FOUND, f"method not found: {method}", {"method": method})


async def _stateless_later(method: str, answer: Coroutine[Any, Any, object]) -> object:
    return _stateless(method, await answer)


def _stateless(method: str, answer: object) -> object:
    if isinstance(answer, ToolResult):
        answer = answer.fields()
    if not isinstance(answer, dict):
        return answer
    return {"resultType": "complete", **cache_hints(method), **answer}


def _initialize(exchange: Exchange) -> object:
    params = exchange.params(mcp.Initialize)
    if exchange.session.client.info is not None:
        raise request_failed(INVALID_REQUEST, "initialize called more than once")
    exchange.session.introduce(params)
    return {
        "protocolVersion": mcp.negotiated(params.protocol_version),
        "capabilities": {name: value for name, value in exchange.capabilities.items() if name != EXTENSIONS},
        "serverInfo": {**SERVER_INFO, "user_agent": user_agent(params.client_info)},
        "instructions": exchange.instructions,
    }


SERVER_INFO: Final = {"name": SERVER_NAME, "title": "Codex", "version": __version__}


def user_agent(client: mcp.ClientInfo | None) -> str:
    system = os.uname()
    server = f"{SERVER_NAME}/{__version__} ({system.sysname} {system.release}; {system.machine})"
    return server if client is None else f"{server} ({client.name}; {client.version})"


def _discover(exchange: Exchange) -> object:
    return {
        "supportedVersions": [*mcp.STATELESS_REVISIONS, *mcp.REVISIONS],
        "capabilities": exchange.capabilities,
        "instructions": exchange.instructions,
        "_meta": {mcp.SERVER_KEY: SERVER_INFO},
    }


def _listen(exchange: Exchange) -> object:
    wanted = exchange.params(mcp.Listen).notifications
    return exchange.session.listen(exchange.request.id, exchange.client, wanted.among(exchange.capabilities))


def _ping(exchange: Exchange) -> object:
    exchange.params(dict[str, object])
    return {}


def _shutdown(exchange: Exchange) -> object:
    exchange.params(dict[str, object])
    exchange.session.shut_down()
    return {}


def listing(tools: Sequence[catalogue.Tool]) -> Handler:
    listed: dict[str, object] = {}

    def answer(exchange: Exchange) -> object:
        exchange.params(dict[str, object])
        if not listed:
            listed["tools"] = [tool.listed() for tool in tools]
        return listed

    return answer


def _tools_call(exchange: Exchange) -> object:
    return exchange.session.call_tool(exchange.request.id, exchange.params(mcp.CallTool), exchange.client)


COMMON: Final[dict[str, Handler]] = {
    "initialize": _initialize,
    "ping": _ping,
    "shutdown": _shutdown,
    "server/discover": _discover,
    "subscriptions/listen": _listen,
}
"""Methods of every MCP server."""

PRODUCT: Final[dict[str, Handler]] = {
    **COMMON,
    "tools/call": _tools_call,
}
