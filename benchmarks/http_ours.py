"""`python -m benchmarks.http_ours`: the HTTP endpoints of codex-mcp with two small tools instead of Codex.

It prints its port, and serves until its stdin ends. Endpoints, sessions, limits and metrics are the product's.
"""

from __future__ import annotations

import asyncio
import socket
import sys
import tempfile
from collections.abc import Awaitable

import uvloop

from codex_mcp.access.access_control import AccessControl
from codex_mcp.access.seal import KEY_BYTES
from codex_mcp.base.settings.core import CoreSettings
from codex_mcp.base.settings.groups import Settings
from codex_mcp.base.tasks import TaskSet
from codex_mcp.codex.supervisor import CoreLaunch
from codex_mcp.mcp.callers import RecentClients
from codex_mcp.mcp.calls.call import Call
from codex_mcp.mcp.calls.client_budgets import LearnedLimits
from codex_mcp.mcp.http.app import HttpApp
from codex_mcp.mcp.http.hub import Hub
from codex_mcp.mcp.http.metrics import Metrics
from codex_mcp.mcp.http.serve import web_server
from codex_mcp.mcp.methods import COMMON, Exchange, Methods
from codex_mcp.rpc.errors import invalid_params
from codex_mcp.threads.threads import Threads
from codex_mcp.wire import mcp
from codex_mcp.wire.jsonrpc import Id

KEY = bytes(KEY_BYTES)
BURST = 10
"""Notifications per pass of the event loop: Codex's events also come several at a time."""

BACKLOG = 2048
"""As in the product."""


class NoCodex:
    """There is nothing to run and nothing to start."""

    def run(self, call: Call) -> Awaitable[object]:
        """Nothing calls this."""
        raise AssertionError(f"{call.params.name} was called")

    def answer_at_once(self, params: mcp.CallTool, principal: str, caller: str) -> object | None:
        """Nothing calls this."""
        raise AssertionError(f"{params.name} was called")

    def warm_up(self) -> None:
        """There is no Codex."""

    def answer_lost(self, caller: str, request_id: Id) -> None:
        """Nothing was reported."""

    def caller_left(self, caller: str, client: str) -> None:
        """Nothing was left."""

    def caller_came(self, caller: str) -> None:
        """Nobody was gone."""

    def answer_read(self, caller: str, request_id: Id) -> None:
        """Nobody waits for news."""

    limits = LearnedLimits()
    callers = RecentClients()


async def _launch() -> CoreLaunch:
    raise AssertionError("somebody wants a Codex")


async def _no_pace() -> None:
    """Nobody has to wait."""


def call_tool(exchange: Exchange) -> object:
    """`tools/call` of `echo` or `count`."""
    params = exchange.params(mcp.CallTool)
    arguments = params.arguments or {}
    if params.name == "echo":
        return {"content": [{"type": "text", "text": arguments["text"]}]}
    if params.name == "count":
        return _count(exchange, params.meta.progress_token, int(str(arguments["to"])))
    raise invalid_params(f"unknown tool: {params.name}")


async def _count(exchange: Exchange, token: object, to: int) -> object:
    for number in range(1, to + 1):
        exchange.notify("notifications/progress", {"progressToken": token, "progress": number, "total": to})
        if number % BURST == 0:
            await asyncio.sleep(0)
    return {"content": [{"type": "text", "text": "counted"}]}


async def serve(home: str) -> None:
    """Serve until stdin ends."""
    settings = Settings(core=CoreSettings(codex_home=home))
    hub = Hub(Methods({**COMMON, "tools/call": call_tool}), NoCodex(), settings.http, settings.calls, KEY)
    threads = Threads(settings.core, settings.calls, _launch, _no_pace)
    server = web_server(
        HttpApp(hub, AccessControl(settings.http, settings.core.codex_home), Metrics(hub, threads), settings.http),
        settings.http,
    )
    tasks = TaskSet()
    with socket.create_server(("127.0.0.1", 0), backlog=BACKLOG) as listener:
        serving = tasks.spawn(server.serve([listener]), name="HTTP listener")
        print(listener.getsockname()[1], flush=True)
        await asyncio.to_thread(sys.stdin.buffer.read)
        await hub.aclose()
        server.should_exit = True
        await serving


if __name__ == "__main__":
    with (
        tempfile.TemporaryDirectory(prefix="codex-mcp-bench-") as folder,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        runner.run(serve(folder))
