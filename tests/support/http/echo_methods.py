"""Methods of a server without tools, for tests of the doors: each does one thing that a door has to carry."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Raw

from codex_mcp.mcp.methods import COMMON, Exchange, Handler
from tests.support.http.endpoints import Served, served
from tests.support.patience import PATIENCE

Json = dict[str, Any]
Value = TypeVar("Value")


class EchoMethods:
    """`echo` answers at once; `talk` says something first; `hold` waits until it is let go; `ask` asks the client."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        """`hold` waits for it."""
        self.held: asyncio.Queue[object] = asyncio.Queue()
        """The ids of requests that wait."""
        self.cancelled: asyncio.Queue[object] = asyncio.Queue()
        """The ids of those that were cancelled while they waited."""

    def table(self) -> Mapping[str, Handler]:
        """For `Methods`."""
        return {**COMMON, "echo": self._echo, "talk": self._talk, "hold": self._hold, "ask": self._ask}

    def _echo(self, exchange: Exchange) -> object:
        return {"echo": _words(exchange)}

    async def _talk(self, exchange: Exchange) -> object:
        words = exchange.params(Json)
        fill = {"fill": "x" * words["fill"]} if "fill" in words else {}
        for number in range(words.get("count", 1)):
            exchange.notify("note", {"number": number, **fill})
        return {"talked": _words(exchange)}

    async def _hold(self, exchange: Exchange) -> object:
        exchange.notify("note", {"held": exchange.request.id})
        self.held.put_nowait(exchange.request.id)
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled.put_nowait(exchange.request.id)
            raise
        exchange.notify("note", {"released": exchange.request.id})
        return {"held": exchange.request.id}

    async def _ask(self, exchange: Exchange) -> object:
        answer: Raw = await exchange.client.request("roots/list", {}, exchange.request.id)
        return {"answered": bytes(answer).decode()}


def _words(exchange: Exchange) -> object:
    return {key: value for key, value in exchange.params(Json).items() if key != "_meta"}


@contextlib.asynccontextmanager
async def serving(home: Path, **settings: Any) -> AsyncIterator[tuple[Served, EchoMethods]]:
    """A server with these methods."""
    methods = EchoMethods()
    async with served(home, methods.table(), **settings) as server:
        yield server, methods


async def within(work: Awaitable[Value]) -> Value:
    """Wait, but not for ever."""
    async with asyncio.timeout(PATIENCE):
        return await work
