"""A server process that has nothing but a state: it does what the lines on its stdin say, and answers on stdout.

Run as a program. `dies_at` ends it by SIGKILL inside SQLite, at the so-manieth step of its virtual machine.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import sys
from itertools import count
from typing import Any

import msgspec

from codex_mcp.base.errors import Explained
from codex_mcp.state.contract import Bounds, Claim
from codex_mcp.state.embedded.store import EmbeddedStore, open_store
from codex_mcp.state.keeper import Keeper, LeaseNews


class Order(msgspec.Struct):
    """What to do, with what."""

    do: str
    args: list[Any] = []


class Answer(msgspec.Struct):
    """What came of it; `error` is the name of its type."""

    result: Any = None
    error: str = ""


class StateNode:
    """One node and its claims."""

    def __init__(self, store: EmbeddedStore, ttl: float) -> None:
        self._store = store
        self._claims: dict[str, Claim] = {}
        self._losses = 0
        self._keeper = Keeper(store.leases, LeaseNews(self._lost), ttl=ttl)

    def _lost(self) -> None:
        self._losses += 1

    async def obey(self, order: Order) -> Answer:
        """Do one thing."""
        try:
            return Answer(await getattr(self, order.do)(*order.args))
        except Explained as error:
            return Answer(error=type(error).__name__)

    async def join(self) -> str:
        return (await self._keeper.join()).id

    async def claim(self, thread: str) -> bool:
        claim = await self._store.leases.claim(thread)
        if isinstance(claim, Claim):
            self._claims[thread] = claim
        return isinstance(claim, Claim)

    async def take(self, node_id: str) -> list[str]:
        claims = await self._store.leases.take(node_id)
        self._claims |= {claim.thread: claim for claim in claims}
        return [claim.thread for claim in claims]

    async def nodes(self) -> dict[str, tuple[bool, float]]:
        return {node.id: (node.alive, node.expires) for node in await self._store.leases.nodes()}

    async def put(self, thread: str, body: str) -> None:
        await self._store.records.put(self._claims[thread], "k", thread, body.encode())

    async def bind(self, thread: str, identity: str) -> None:
        await self._store.records.bind(self._claims[thread], "team", identity)

    async def once(self, thread: str, request: str) -> bool:
        return await self._store.records.once(self._claims[thread], "p", request) is None

    async def append(self, thread: str, entries: list[str]) -> None:
        await self._store.journal.append(self._claims[thread], "s", [entry.encode() for entry in entries])

    async def standing(self) -> tuple[bool, int]:
        return self._keeper.holding, self._losses

    async def aclose(self) -> None:
        await self._keeper.aclose()
        await self._store.aclose()


def die_in_sqlite_at(step: int) -> None:
    """Let every connection count its steps, and kill this process at one of them."""
    connect, steps = sqlite3.connect, count(1)

    def one_step() -> None:
        if next(steps) == step:
            os.kill(os.getpid(), signal.SIGKILL)

    def counting(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*args, **kwargs)
        connection.set_progress_handler(one_step, 1)
        return connection

    sqlite3.connect = counting  # type: ignore[assignment]


async def main(state_dir: str, ttl: float) -> None:
    """Obey until stdin ends."""
    orders = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    node = StateNode(await open_store(state_dir, Bounds(ttl=ttl)), ttl)
    try:
        while line := await orders.readline():
            answer = await node.obey(msgspec.json.decode(line, type=Order))
            os.write(1, msgspec.json.encode(answer) + b"\n")
    finally:
        await node.aclose()


if __name__ == "__main__":
    if len(sys.argv) > 3:
        die_in_sqlite_at(int(sys.argv[3]))
    asyncio.run(main(sys.argv[1], float(sys.argv[2])))
