"""`python http_peers.py sdk|fastmcp json|sse`: the same two tools on somebody else's server, below the same uvicorn.

It prints its port, and serves until its stdin ends. It runs in another environment than we do, and imports nothing of
ours.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import socket
import sys
from typing import Any

import uvicorn
import uvloop
from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server

BACKLOG = 2048
"""As in ours."""

KEEP_ALIVE = 75
"""Seconds, as in ours."""


def sdk_app(*, json_response: bool) -> Any:
    """The official SDK's low-level server."""

    async def tools(context: ServerRequestContext[Any], params: object) -> types.ListToolsResult:
        echo = {"type": "object", "properties": {"text": {"type": "string"}}}
        count = {"type": "object", "properties": {"to": {"type": "integer"}}}
        return types.ListToolsResult(
            tools=[types.Tool(name="echo", input_schema=echo), types.Tool(name="count", input_schema=count)]
        )

    async def call(context: ServerRequestContext[Any], params: types.CallToolRequestParams) -> types.CallToolResult:
        arguments = params.arguments or {}
        if params.name == "echo":
            return types.CallToolResult(content=[types.TextContent(text=arguments["text"])])
        token, to = (context.meta or {}).get("progress_token"), int(arguments["to"])
        assert token is not None
        for number in range(1, to + 1):
            await context.session.send_progress_notification(token, number, to, None, str(context.request_id))
        return types.CallToolResult(content=[types.TextContent(text="counted")])

    return Server("peer", on_list_tools=tools, on_call_tool=call).streamable_http_app(json_response=json_response)


def fastmcp_app(*, json_response: bool) -> Any:
    """FastMCP, with tools as its users write them."""
    fastmcp = importlib.import_module("fastmcp")
    dependencies = importlib.import_module("fastmcp.server.dependencies")
    server = fastmcp.FastMCP("peer")

    async def echo(text: str) -> str:
        return text

    async def count(to: int) -> str:
        context = dependencies.get_context()
        for number in range(1, to + 1):
            await context.report_progress(number, to)
        return "counted"

    for tool in (echo, count):
        server.tool(tool)
    return server.http_app(path="/mcp", json_response=json_response)


APPS = {"sdk": sdk_app, "fastmcp": fastmcp_app}


async def serve(name: str, answers: str) -> None:
    """Serve until stdin ends."""
    app = APPS[name](json_response=answers == "json")
    config = uvicorn.Config(
        app, http="httptools", loop="none", log_config=None, access_log=False, timeout_keep_alive=KEEP_ALIVE
    )
    config.timeout_graceful_shutdown = 1
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0), backlog=BACKLOG) as listener:
        serving = asyncio.ensure_future(server.serve([listener]))
        print(listener.getsockname()[1], flush=True)
        await asyncio.to_thread(sys.stdin.buffer.read)
        server.should_exit = True
        await serving


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(sys.argv[1], sys.argv[2]))
