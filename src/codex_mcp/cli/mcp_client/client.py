"""A small MCP client: starts the server as any client does, calls its tool, receives events, answers questions."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Final, Protocol

import msgspec
from msgspec import Struct

from codex_mcp import __version__
from codex_mcp.base.errors import Refused
from codex_mcp.base.settings.kinds import MIB
from codex_mcp.base.tasks import TaskSet
from codex_mcp.cli.mcp_client.messages import Decision, Event, Greeting, Question, ToolResult, event_from
from codex_mcp.rpc.errors import ConnectionLost, RequestFailed, request_failed
from codex_mcp.rpc.peer import Handlers, Peer
from codex_mcp.transports.child import Child, start_child
from codex_mcp.wire.jsonrpc import METHOD_NOT_FOUND, Notification, Request
from codex_mcp.wire.mcp import REVISIONS

CLIENT_NAME: Final = "codex-mcp-demo"

MAX_MESSAGE_BYTES: Final = 16 * MIB
"""Far more than any message about one small fix."""

MAX_QUESTIONS: Final = 16
"""Questions at once; Codex asks one after the other."""

END_GRACE: Final = 10.0
"""Seconds from closing the server's stdin until it is killed. It takes a tenth of one."""


class Audience(Protocol):
    """Receives the events and questions of the server."""

    def event_received(self, event: Event) -> None: ...

    async def answer(self, question: Question) -> Decision: ...


class Unattended:
    """Nobody is there: events are not shown, and questions are declined."""

    def event_received(self, event: Event) -> None: ...

    async def answer(self, question: Question) -> Decision:
        return Decision(approved=False)


class ServerLaunch(Struct, frozen=True):
    argv: Sequence[str]
    environment: Mapping[str, str]
    cwd: str


class Client:
    def __init__(self, child: Child, audience: Audience) -> None:
        self._child = child
        self._audience = audience
        self._asking = asyncio.Lock()
        handlers = Handlers(self._request_received, self._notification_received)
        self.peer = Peer(child, handlers, max_requests=MAX_QUESTIONS)

    async def initialize(self, *, can_ask: bool = True) -> Greeting:
        """`can_ask`: the server may ask a person here."""
        params = {
            "protocolVersion": REVISIONS[0],
            "capabilities": {"elicitation": {}} if can_ask else {},
            "clientInfo": {"name": CLIENT_NAME, "version": __version__},
        }
        greeting = msgspec.json.decode(await self._call("initialize", params), type=Greeting)
        self.peer.notify("notifications/initialized")
        return greeting

    async def call_tool(self, name: str, arguments: Mapping[str, object]) -> ToolResult:
        result = await self._call("tools/call", {"name": name, "arguments": arguments})
        return msgspec.json.decode(result, type=ToolResult)

    async def _call(self, method: str, params: object) -> msgspec.Raw:
        try:
            return await self.peer.call(method, params)
        except RequestFailed as exc:
            raise Refused(f"cannot continue: the server answered {method} with an error: {exc}") from exc
        except ConnectionLost as exc:
            ended = await self._child.wait()
            words = ended.stderr.strip().splitlines() or ["no output"]
            raise Refused(f"cannot continue: the server ended with {ended}: {words[-1]}") from exc

    def _request_received(self, request: Request) -> object:
        match request.method:
            case "ping":
                return {}
            case "elicitation/create":
                return self._answer(msgspec.json.decode(request.params, type=Question))
            case _:
                raise request_failed(METHOD_NOT_FOUND, f"Method not found: {request.method}")

    async def _answer(self, question: Question) -> object:
        async with self._asking:  # one person, one question at a time
            return (await self._audience.answer(question)).wire()

    def _notification_received(self, message: Notification) -> None:
        if message.method == "codex/event" and (event := event_from(message.params)) is not None:
            self._audience.event_received(event)


@contextlib.asynccontextmanager
async def connect(launch: ServerLaunch, audience: Audience) -> AsyncIterator[Client]:
    """A running server and a client for it. Afterwards none of its processes is left."""
    child = await start_child(launch.argv, launch.environment, MAX_MESSAGE_BYTES, cwd=launch.cwd)
    client = Client(child, audience)
    tasks = TaskSet()
    try:
        tasks.spawn(client.peer.run(), name="the server's stdout")
        yield client
    finally:
        await _end(child, client.peer, tasks)


async def _end(child: Child, peer: Peer, tasks: TaskSet) -> None:
    """Close the server's stdin, as clients do, and wait; kill it after a timeout or a cancellation."""
    try:
        await peer.aclose()
        async with asyncio.timeout(END_GRACE):
            await child.wait()
    except (TimeoutError, asyncio.CancelledError) as exc:
        child.kill()
        await child.wait()
        if isinstance(exc, asyncio.CancelledError):
            raise
    finally:
        await tasks.aclose()
