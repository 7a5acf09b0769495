"""The HTTP side of the server as an ASGI application: the gate, then the door that the path names."""

from __future__ import annotations

import logging
from typing import Final

from codex_mcp.base.settings import Settings
from codex_mcp.mcp.door import Refusal, refusal
from codex_mcp.mcp.door_bus import Bus
from codex_mcp.mcp.door_mcp import McpDoor
from codex_mcp.mcp.door_ws import serve_socket
from codex_mcp.mcp.doorkeeper import Doorkeeper
from codex_mcp.mcp.gate import Rejected
from codex_mcp.mcp.hub import Hub
from codex_mcp.transports.http import JSON, TEXT, Disconnected, HttpExchange, Receive, Scope, Send, header_map

logger = logging.getLogger(__name__)

WS_REFUSED: Final = 1008


class HttpApp:
    """One server's doors."""

    def __init__(self, hub: Hub, doorkeeper: Doorkeeper, settings: Settings) -> None:
        self._hub = hub
        self._doorkeeper = doorkeeper
        self._bus = Bus(hub, settings)
        self._mcp = McpDoor(hub, self._bus, settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request or one socket."""
        if scope["type"] == "http":
            await self._http(HttpExchange(scope, receive, send))
        elif scope["type"] == "websocket":
            await self._socket(scope, receive, send)

    async def _http(self, http: HttpExchange) -> None:
        try:
            await self._routed(http)
        except Refusal as exc:
            if not http.started:
                await http.respond(exc.status, exc.body, JSON, *exc.headers)
        except Disconnected:
            logger.debug("a client went away before it had said everything")

    async def _routed(self, http: HttpExchange) -> None:
        if http.path == "/healthz":
            await http.respond(200, b"ok\n", TEXT)
            return
        verdict = self._doorkeeper.admit(http.headers)
        if isinstance(verdict, Rejected):
            headers = [(b"www-authenticate", b"Bearer")] if verdict.status == 401 else []
            raise refusal(verdict.status, verdict.why, *headers)
        match http.path:
            case "/mcp" | "/mcp/":
                await self._mcp.serve(http, verdict.principal)
            case "/":
                await self._bus.serve(http, verdict.principal)
            case _:
                raise refusal(404, "Not Found: the doors are /mcp, / and /ws")

    async def _socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        verdict = self._doorkeeper.admit(header_map(scope["headers"]))
        if isinstance(verdict, Rejected) or scope["path"] != "/ws":
            await receive()
            await send({"type": "websocket.close", "code": WS_REFUSED})
            return
        await serve_socket(self._bus, scope, receive, send, verdict.principal)
