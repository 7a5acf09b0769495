"""The doors of a server in this process, without a Codex: any methods, on a real port."""

import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codex_mcp.access.access_control import AccessControl
from codex_mcp.access.seal import KEY_BYTES
from codex_mcp.base.tasks import TaskSet
from codex_mcp.mcp.callers import RecentClients
from codex_mcp.mcp.calls.call import Call
from codex_mcp.mcp.calls.client_budgets import LearnedLimits
from codex_mcp.mcp.http.app import HttpApp
from codex_mcp.mcp.http.hub import Hub
from codex_mcp.mcp.http.serve import web_server
from codex_mcp.mcp.methods import Handler, Methods
from codex_mcp.wire import mcp
from codex_mcp.wire.jsonrpc import Id
from tests.support.settings import make_settings

KEY = bytes(KEY_BYTES)
"""Seals what clients carry. Every server of these tests has the same one, as a restarted server has."""


class NoTools:
    """Methods of their own need no tools of the product."""

    def run(self, call: Call) -> Awaitable[object]:
        """Nothing calls this."""
        raise AssertionError(f"{call.params.name} was called")

    def answer_at_once(self, params: mcp.CallTool, principal: str, caller: str) -> object | None:
        """Nothing calls this."""
        raise AssertionError(f"{params.name} was called")

    def caller_left(self, caller: str, client: str) -> None:
        """Nothing was left."""

    def caller_came(self, caller: str) -> None:
        """Nobody was gone."""

    limits = LearnedLimits()
    callers = RecentClients()

    def warm_up(self) -> None:
        """There is nothing to start."""

    def answer_lost(self, caller: str, request_id: Id) -> None:
        """Nothing was reported."""

    def answer_read(self, caller: str, request_id: Id) -> None:
        """Nothing was reported."""


@dataclass(frozen=True, slots=True)
class Served:
    """A server that listens."""

    port: int
    hub: Hub


@contextlib.asynccontextmanager
async def served(
    home: Path,
    table: Mapping[str, Handler],
    capabilities: Mapping[str, object] | None = None,
    *,
    port: int = 0,
    stateless: bool = True,
    **settings: Any,
) -> AsyncIterator[Served]:
    """Serve these methods for a while. At the end every stream is ended and every connection closed."""
    chosen = make_settings(codex_home=str(home), **settings)
    hub = Hub(
        Methods(table, capabilities or {"tools": {}}, stateless=stateless), NoTools(), chosen.http, chosen.calls, KEY
    )
    app = HttpApp(hub, AccessControl(chosen.http, chosen.core.codex_home), None, chosen.http)
    server = web_server(app, chosen.http)
    tasks = TaskSet()
    with socket.create_server(("127.0.0.1", port)) as listener:
        serving = tasks.spawn(server.serve([listener]), name="HTTP listener")
        try:
            yield Served(listener.getsockname()[1], hub)
        finally:
            for session in hub.running():
                session.stop_listening()
            await hub.aclose()
            server.should_exit = True
            await serving
            await tasks.aclose()
