"""Every method that a client may call, on one page."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final

import msgspec

from codex_mcp import __version__
from codex_mcp.mcp import catalogue
from codex_mcp.mcp.session import Session
from codex_mcp.rpc.errors import invalid_params, request_failed
from codex_mcp.wire import mcp
from codex_mcp.wire.jsonrpc import INVALID_REQUEST, METHOD_NOT_FOUND, Notification, Request

SERVER_NAME: Final = "codex-mcp-server"


def handle_request(session: Session, request: Request) -> object:
    """Answer a request, or return the coroutine that will. Raises RequestFailed."""
    handler = REQUESTS.get(request.method)
    if handler is None:
        raise request_failed(METHOD_NOT_FOUND, f"method not found: {request.method}", {"method": request.method})
    try:
        return handler(session, request)
    except msgspec.MsgspecError as exc:
        raise invalid_params(str(exc)) from exc


def handle_notification(session: Session, message: Notification) -> None:
    """Take note. What is unknown or unreadable is ignored, as JSON-RPC wants it."""
    if message.method == "notifications/cancelled":
        try:
            session.cancel(msgspec.json.decode(message.params, type=mcp.Cancelled))
        except msgspec.MsgspecError:
            return


def _initialize(session: Session, request: Request) -> object:
    params = msgspec.json.decode(request.params, type=mcp.Initialize)
    if session.client.info is not None:
        raise request_failed(INVALID_REQUEST, "initialize called more than once")
    session.introduce(params)
    return {
        "protocolVersion": mcp.negotiated(params.protocol_version),
        "capabilities": {"tools": {}},
        "serverInfo": {
            "name": SERVER_NAME,
            "title": "Codex",
            "version": __version__,
            "user_agent": _user_agent(params.client_info),
        },
    }


def _user_agent(client: mcp.ClientInfo) -> str:
    system = os.uname()
    machine = f"{system.sysname} {system.release}; {system.machine}"
    return f"{SERVER_NAME}/{__version__} ({machine}) ({client.name}; {client.version})"


def _ping(session: Session, request: Request) -> object:
    _object(request)
    return {}


def _tools_list(session: Session, request: Request) -> object:
    _object(request)
    return TOOLS_LIST


def _tools_call(session: Session, request: Request) -> object:
    return session.call_tool(request.id, msgspec.json.decode(request.params, type=mcp.CallTool))


def _empty(key: str) -> Callable[[Session, Request], object]:
    """Some clients drop a server that does not know these, so that it has none of them rather than not knowing them."""

    def answer(session: Session, request: Request) -> object:
        _object(request)
        return {key: []}

    return answer


def _object(request: Request) -> None:
    msgspec.json.decode(request.params, type=dict[str, object])


TOOLS_LIST: Final = {"tools": [tool.listed() for tool in catalogue.TOOLS]}

REQUESTS: Final[dict[str, Callable[[Session, Request], object]]] = {
    "initialize": _initialize,
    "ping": _ping,
    "tools/list": _tools_list,
    "tools/call": _tools_call,
    "resources/list": _empty("resources"),
    "resources/templates/list": _empty("resourceTemplates"),
    "prompts/list": _empty("prompts"),
}
