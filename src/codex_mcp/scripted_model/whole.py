"""An answer in one piece, for clients that ask for no stream: what would have been streamed, put together."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import msgspec

from codex_mcp.scripted_model.connection import Connection


class WholeAnswer:
    """Takes the parts of a stream, and sends them as one response at their end."""

    def __init__(self, connection: Connection, model: str) -> None:
        self._connection = connection
        self._model = model
        self._headers: Mapping[str, str] | None = None
        self._parts: list[bytes] = []
        self.answer = connection.answer
        self.hang_up = connection.hang_up

    @property
    def closed(self) -> asyncio.Event:
        return self._connection.closed

    async def begin_stream(self, headers: Mapping[str, str] | None = None) -> None:
        self._headers = headers

    async def send(self, data: bytes) -> None:
        self._parts.append(data)

    async def end_stream(self) -> None:
        headers = {**(self._headers or {}), "content-type": "application/json"}
        await self._connection.answer(200, whole(b"".join(self._parts), self._model), headers)


def whole(stream: bytes, model: str) -> bytes:
    """The response that these events tell."""
    lines = [line.removeprefix(b"data: ") for line in stream.splitlines() if line.startswith(b"data: ")]
    events = [msgspec.json.decode(line) for line in lines]
    items = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    last = events[-1]
    fixed = {"object": "response", "created_at": 0, "model": model, "error": None, "incomplete_details": None}
    asked = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    status = {"status": last["type"].removeprefix("response."), "output": items}
    return msgspec.json.encode({**fixed, **asked, **status, **last["response"]})
