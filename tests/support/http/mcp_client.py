"""A client of the HTTP doors, spoken by hand: the test sees every header and every event."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import msgspec

from tests.support.http.client import Answer, Wire, connect

Json = dict[str, Any]

BOTH = "application/json, text/event-stream"
"""What a client that follows the specification accepts."""

SESSION = "mcp-session-id"
STATELESS = "2026-07-28"


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event."""

    id: str
    data: str
    retry: str = ""

    @property
    def message(self) -> Json:
        """What it carries."""
        message: Json = msgspec.json.decode(self.data)
        return message


class Events:
    """An answer that is a stream."""

    def __init__(self, wire: Wire, status: int, headers: dict[str, str]) -> None:
        self.status = status
        self.headers = headers
        self.ended = False
        self._wire = wire
        self._text = ""

    async def next(self) -> Event | None:
        """The next event, comments skipped; None at the end of the stream."""
        while True:
            block, found, rest = self._text.partition("\n\n")
            if found:
                self._text = rest
                if not block.startswith(":"):
                    return _event(block)
            elif data := await self._wire.read_chunk():
                self._text += data.decode()
            else:
                self.ended = True
                return None

    async def message(self) -> Json:
        """The next message; events that carry none are skipped."""
        while (event := await self.next()) is not None:
            if event.data:
                return event.message
        raise AssertionError("the stream has ended")

    async def until(self, **wanted: object) -> Json:
        """Skip to the next message that has these fields."""
        while True:
            message = await self.message()
            if all(message.get(key) == value for key, value in wanted.items()):
                return message

    async def rest(self) -> list[Json]:
        """Every message until the end."""
        messages = []
        while (event := await self.next()) is not None:
            if event.data:
                messages.append(event.message)
        return messages


def _event(block: str) -> Event:
    pairs = (line.partition(":") for line in block.split("\n"))
    fields = {name: text.removeprefix(" ") for name, _, text in pairs}
    return Event(fields.get("id", ""), fields.get("data", ""), fields.get("retry", ""))


class Door:
    """One door of a server on this machine. Every request has a connection of its own."""

    def __init__(self, port: int, path: str = "/mcp", **headers: str) -> None:
        self.port = port
        self.path = path
        self.headers = {"host": f"127.0.0.1:{port}", **{name.replace("_", "-"): text for name, text in headers.items()}}

    async def ask(self, method: str, message: object = None, **headers: str) -> Answer:
        """Send a request and read its whole answer."""
        async with connect(self.port) as wire:
            self._send(wire, method, message, headers)
            return await wire.read_answer()

    async def post(self, message: object, **headers: str) -> Json:
        """Post a message; return the one that comes back as JSON."""
        answer = await self.ask("POST", message, **headers)
        assert answer.headers.get("content-type") == "application/json", answer
        decoded: Json = msgspec.json.decode(answer.body)
        return decoded

    @contextlib.asynccontextmanager
    async def stream(self, method: str, message: object = None, **headers: str) -> AsyncIterator[Events]:
        """Send a request whose answer is a stream; leaving cuts the connection."""
        async with connect(self.port) as wire:
            self._send(wire, method, message, headers)
            status, found = await wire.read_head()
            assert found.get("content-type") == "text/event-stream", (status, found)
            yield Events(wire, status, found)

    async def messages(self, message: object, **headers: str) -> AsyncIterator[Json]:
        """Post a request; all messages that come back, as a stream or as one answer."""
        async with connect(self.port) as wire:
            self._send(wire, "POST", message, headers)
            status, found = await wire.read_head()
            if found.get("content-type") == "text/event-stream":
                events = Events(wire, status, found)
                while (event := await events.next()) is not None:
                    if event.data:
                        yield event.message
            else:
                yield msgspec.json.decode(await wire.read_body(found))

    @contextlib.asynccontextmanager
    async def waiting(self, method: str, message: object, **headers: str) -> AsyncIterator[None]:
        """Send a request and do not wait for the answer; leaving cuts the connection."""
        async with connect(self.port) as wire:
            self._send(wire, method, message, headers)
            await wire.drained()
            yield

    def _send(self, wire: Wire, method: str, message: object, headers: dict[str, str]) -> None:
        given = {name.replace("_", "-"): text for name, text in headers.items()}
        body = b"" if message is None else message if isinstance(message, bytes) else msgspec.json.encode(message)
        if message is not None:
            given = {"content-type": "application/json", **given}
        wire.send(method, self.path, body, {**self.headers, **given})


def request(request_id: int | str, method: str, **params: object) -> Json:
    """A request."""
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def notification(method: str, **params: object) -> Json:
    """A notification."""
    return {"jsonrpc": "2.0", "method": method, "params": params}


def call(request_id: int | str, tool: str, arguments: Json | None = None, **params: object) -> Json:
    """A `tools/call`."""
    return request(request_id, "tools/call", name=tool, arguments=arguments or {}, **params)


def initialize(revision: str = "2025-11-25", capabilities: Json | None = None) -> Json:
    """The first request of a client that shakes hands."""
    info = {"name": "tests", "version": "1"}
    return request(0, "initialize", protocolVersion=revision, capabilities=capabilities or {}, clientInfo=info)


async def shake_hands(
    port: int, revision: str = "2025-11-25", capabilities: Json | None = None, **headers: str
) -> Door:
    """A client with a session at `/mcp`."""
    door = Door(port, accept=BOTH, **headers)
    answer = await door.ask("POST", initialize(revision, capabilities))
    assert answer.status == 200, answer
    door.headers |= {SESSION: answer.headers[SESSION], "mcp-protocol-version": revision}
    assert (await door.ask("POST", notification("notifications/initialized"))).status == 202
    return door


def stateless(message: Json, **capabilities: object) -> tuple[Json, dict[str, str]]:
    """The same request as one that stands for itself, and the headers that go with it."""
    prefix = "io.modelcontextprotocol/"
    meta = {
        **message["params"].get("_meta", {}),
        f"{prefix}protocolVersion": STATELESS,
        f"{prefix}clientCapabilities": capabilities,
        f"{prefix}clientInfo": {"name": "tests", "version": "1"},
    }
    headers = {"mcp-protocol-version": STATELESS, "mcp-method": message["method"], "accept": BOTH}
    for key in ("name", "taskId", "uri"):
        if key in message["params"]:
            headers["mcp-name"] = message["params"][key]
    return {**message, "params": {**message["params"], "_meta": meta}}, headers
