"""A client on the official Python SDK, driven by a test with the same lines as typescript_client.mjs.

    python python_client.py SDK SERVER ANSWER

SDK is "1" (mcp 1.x, which needs a Python of its own), "2" (mcp 2.x, shaking hands) or "2-auto" (the same, asking for
the newest protocol first). SERVER is {url, headers}; with `timeout` a read that takes longer (seconds) is given up.
"""

import asyncio
import contextlib
import importlib
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import Any, Protocol

Json = dict[str, Any]
# The two generations have no type in common, and one of them is never installed where types are checked.
Sdk = Any


class Client(Protocol):
    """What both generations can do."""

    async def list_tools(self) -> Sdk:
        """Ask for the tools."""

    async def call(self, params: Json, progress: Callable[..., Awaitable[None]] | None, timeout: float | None) -> Sdk:
        """Call a tool."""

    async def cancel(self, call: "asyncio.Task[None]") -> None:
        """Take back the newest call."""


class First:
    """1.x. It does not say by itself that a call is taken back; a program has to."""

    def __init__(self, session: Sdk) -> None:
        self._session = session
        self._types = importlib.import_module("mcp.types")
        self._newest = 0

    async def list_tools(self) -> Sdk:
        """Ask for the tools."""
        return await self._session.list_tools()

    async def call(self, params: Json, progress: Callable[..., Awaitable[None]] | None, timeout: float | None) -> Sdk:
        """Call a tool."""
        self._newest = self._session._request_id
        limit = timedelta(seconds=timeout) if timeout else None
        return await self._session.call_tool(params["name"], params["arguments"], limit, progress)

    async def cancel(self, call: "asyncio.Task[None]") -> None:
        """Take back the newest call, and go on waiting for its answer."""
        params = self._types.CancelledNotificationParams(requestId=self._newest, reason="the test takes it back")
        notification = self._types.CancelledNotification(params=params)
        await self._session.send_notification(self._types.ClientNotification(notification))


class Second:
    """2.x."""

    def __init__(self, client: Sdk) -> None:
        self._client = client

    async def list_tools(self) -> Sdk:
        """Ask for the tools."""
        return await self._client.list_tools()

    async def call(self, params: Json, progress: Callable[..., Awaitable[None]] | None, timeout: float | None) -> Sdk:
        """Call a tool."""
        return await self._client.call_tool(
            params["name"], params["arguments"], read_timeout_seconds=timeout, progress_callback=progress
        )

    async def cancel(self, call: "asyncio.Task[None]") -> None:
        """Take back the call."""
        call.cancel()


def say(event: Json) -> None:
    """Tell the test."""
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


def plain(model: Sdk) -> Json:
    """What came over the wire."""
    fields: Json = model.model_dump(mode="json", by_alias=True, exclude_none=True)
    return fields


@contextlib.asynccontextmanager
async def connected(sdk: str, server: Json, answer: Json) -> AsyncIterator[Client]:
    """The client, once it has said hello."""
    web = importlib.import_module("mcp.client.streamable_http")
    types = importlib.import_module("mcp.types" if sdk == "1" else "mcp_types")
    httpx = importlib.import_module("httpx" if sdk == "1" else "httpx2")

    async def asked(_: object, params: Sdk) -> Sdk:
        say({"question": plain(params)})
        return types.ElicitResult(**answer)

    async with httpx.AsyncClient(headers=server["headers"], timeout=server.get("timeout", 30)) as http:
        transport = web.streamable_http_client(server["url"], http_client=http)
        mcp = importlib.import_module("mcp")
        if sdk == "1":
            async with (
                transport as (read, write, _),
                mcp.ClientSession(read, write, elicitation_callback=asked) as session,
            ):
                hello = await session.initialize()
                say({"connected": plain(hello.serverInfo), "version": hello.protocolVersion})
                yield First(session)
        else:
            mode = "auto" if sdk == "2-auto" else "legacy"
            async with mcp.Client(transport, mode=mode, elicitation_callback=asked) as client:
                say({"connected": plain(client.server_info), "version": client.protocol_version})
                yield Second(client)


async def perform(client: Client, command: Json) -> None:
    """Do what the test says, and tell how it ended."""
    number, options = command["id"], command.get("options", {})

    async def progressed(progress: float, total: float | None, message: str | None) -> None:
        say({"id": number, "progress": {"progress": progress, "total": total, "message": message}})

    try:
        if command["do"] == "list":
            result = await client.list_tools()
        else:
            show = progressed if options.get("progress") else None
            result = await client.call(command["params"], show, options.get("timeout"))
    except asyncio.CancelledError:
        say({"id": number, "error": "the test takes it back"})
    except Exception as exc:  # noqa: BLE001  the test decides whether it is a good one
        say({"id": number, "error": repr(exc)})
    else:
        say({"id": number, "result": plain(result)})


async def main(sdk: str, server: str, answer: str) -> None:
    """Follow the lines of stdin until they end."""
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    async with connected(sdk, json.loads(server), json.loads(answer)) as client, asyncio.TaskGroup() as group:
        calls: dict[int, asyncio.Task[None]] = {}
        while line := await lines.readline():
            command: Json = json.loads(line)
            if command["do"] == "cancel":
                await client.cancel(calls[command["id"]])
            else:
                calls[command["id"]] = group.create_task(perform(client, command))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
