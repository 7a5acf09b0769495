"""Clients of every door of one server, which do the same thing: call `codex`, answer what they are asked, and remember
everything that they were told."""

import abc
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec
from websockets.asyncio.client import ClientConnection, connect

from codex_mcp.base.tasks import TaskSet
from tests.support.http.mcp_client import BOTH, SESSION, Door, Events, Json, call, initialize, notification, stateless
from tests.support.patience import PATIENCE

SAME_ID = 7
"""Every call of everybody has this id."""

Decide = Callable[[Json], Json]
"""The parameters of an `elicitation/create` → the answer."""


@dataclass
class Visitor(abc.ABC):
    """One client with a session of its own."""

    port: int
    token: str
    mark: str
    heard: list[Json] = field(default_factory=list)
    """Every message that it got, on whatever stream."""

    @abc.abstractmethod
    async def codex(self, tool: str, arguments: Json, decide: Decide) -> Json:
        """Call a tool and answer what is asked; the result."""

    @property
    def authorization(self) -> str:
        """The header that says who it is."""
        return f"Bearer {self.token}"

    def door(self, path: str = "/mcp", **headers: str) -> Door:
        """A door, with the token in hand."""
        return Door(self.port, path, authorization=self.authorization, **headers)


class PostingVisitor(Visitor):
    """One that answers by POST."""

    session: Door
    accepted: int
    """The status of a POST that was taken, and has no answer."""

    async def reply(self, message_id: object, result: Json) -> None:
        """Answer a question."""
        answer = await self.session.ask("POST", {"jsonrpc": "2.0", "id": message_id, "result": result})
        assert answer.status == self.accepted, answer


class McpVisitor(PostingVisitor):
    """At `/mcp`, with a handshake."""

    accepted = 202

    @contextlib.asynccontextmanager
    async def visit(self) -> AsyncIterator["McpVisitor"]:
        """Shake hands."""
        self.session = self.door(accept=BOTH)
        answer = await self.session.ask("POST", initialize(capabilities={"elicitation": {}}))
        assert answer.status == 200, answer
        self.session.headers |= {SESSION: answer.headers[SESSION], "mcp-protocol-version": "2025-11-25"}
        yield self

    async def codex(self, tool: str, arguments: Json, decide: Decide) -> Json:
        """On a stream of its own."""
        async with self.session.stream("POST", call(SAME_ID, tool, arguments)) as events:
            return await self._until_answered(events, decide)

    async def _until_answered(self, events: Events, decide: Decide) -> Json:
        while True:
            message = await events.message()
            self.heard.append(message)
            if message.get("method") == "elicitation/create":
                await self.reply(message["id"], decide(message["params"]))
            elif message.get("id") == SAME_ID:
                result: Json = message["result"]
                return result


class BusVisitor(PostingVisitor):
    """At `/`, under an id of its own choice: a stream that hears everything, and POSTs that get their answers."""

    accepted = 204
    session_id = "the-same-for-everybody"

    @contextlib.asynccontextmanager
    async def visit(self) -> AsyncIterator["BusVisitor"]:
        """Listen, then introduce itself."""
        self.session = self.door("/", **{SESSION: self.session_id})
        async with self.session.stream("GET", accept="text/event-stream") as events:
            self.events = events
            await self.session.post(initialize(capabilities={"elicitation": {}}))
            yield self

    async def codex(self, tool: str, arguments: Json, decide: Decide) -> Json:
        """The answer comes to the POST, and to the stream as well."""
        tasks = TaskSet()
        posting = tasks.spawn(self.session.post(call(SAME_ID, tool, arguments)), name="POST")
        try:
            while True:
                message = await self.events.message()
                self.heard.append(message)
                if message.get("method") == "elicitation/create":
                    await self.reply(message["id"], decide(message["params"]))
                elif message.get("id") == SAME_ID:
                    assert await posting == message
                    result: Json = message["result"]
                    return result
        finally:
            await tasks.aclose()


class SocketVisitor(Visitor):
    """At `/ws`."""

    socket: ClientConnection
    session_id = "the-same-for-every-socket"

    @contextlib.asynccontextmanager
    async def visit(self) -> AsyncIterator["SocketVisitor"]:
        """Open the socket and shake hands."""
        headers = {"authorization": self.authorization, SESSION: self.session_id}
        address = f"ws://127.0.0.1:{self.port}/ws"
        async with connect(address, additional_headers=headers, proxy=None, open_timeout=PATIENCE) as self.socket:
            await self.say(initialize(capabilities={"elicitation": {}}))
            await self.hear()
            await self.say(notification("notifications/initialized"))
            yield self

    async def say(self, message: object) -> None:
        """Send one message."""
        await self.socket.send(msgspec.json.encode(message).decode())

    async def hear(self) -> Json:
        """The next message."""
        message: Json = msgspec.json.decode(await self.socket.recv())
        self.heard.append(message)
        return message

    async def codex(self, tool: str, arguments: Json, decide: Decide) -> Json:
        """Everything on one socket."""
        await self.say(call(SAME_ID, tool, arguments))
        while True:
            message = await self.hear()
            if message.get("method") == "elicitation/create":
                await self.reply(message["id"], decide(message["params"]))
            elif message.get("id") == SAME_ID:
                result: Json = message["result"]
                return result

    async def reply(self, message_id: object, result: Json) -> None:
        """Answer a question."""
        await self.say({"jsonrpc": "2.0", "id": message_id, "result": result})


class StatelessVisitor(Visitor):
    """At `/mcp`, without a handshake: it is answered that input is required, and comes again."""

    @contextlib.asynccontextmanager
    async def visit(self) -> AsyncIterator["StatelessVisitor"]:
        """There is nothing to prepare."""
        yield self

    async def codex(self, tool: str, arguments: Json, decide: Decide) -> Json:
        """Until no input is required any longer."""
        further: Json = {}
        while True:
            result: Json = (await self.once(call(SAME_ID, tool, arguments, **further)))["result"]
            if result.get("resultType") != "input_required":
                return result
            answers = {key: decide(asked["params"]) for key, asked in result["inputRequests"].items()}
            further = {"requestState": result["requestState"], "inputResponses": answers}

    async def once(self, message: Json) -> Json:
        """One request and all that is said about it; the answer."""
        sent, headers = stateless(message, elicitation={})
        answer = await self.door(**headers).ask("POST", sent)
        self.heard += messages_in(answer.headers["content-type"], answer.body)
        return self.heard[-1]


def messages_in(kind: str, body: bytes) -> list[Json]:
    """The messages of an answer that is JSON, or a whole stream."""
    if kind == "application/json":
        return [msgspec.json.decode(body)]
    lines = (line for line in body.split(b"\n") if line.startswith(b"data: {"))
    return [msgspec.json.decode(line.removeprefix(b"data: ")) for line in lines]


KINDS: tuple[type[Any], ...] = (McpVisitor, McpVisitor, BusVisitor, SocketVisitor, StatelessVisitor)
"""Whom each principal sends."""


@contextlib.asynccontextmanager
async def crowd(port: int, tokens: dict[str, str]) -> AsyncIterator[list[Any]]:
    """Five visitors of each principal."""
    async with contextlib.AsyncExitStack() as stack:
        visitors = []
        for principal, token in tokens.items():
            for number, kind in enumerate(KINDS):
                visitor = kind(port, token, f"<{principal}-{number}>")
                visitors.append(await stack.enter_async_context(visitor.visit()))
        yield visitors
