"""What one node sees in the database: which nodes are alive, by their leases, and by their locks on this machine."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final

from codex_mcp.base.blocking import in_thread
from codex_mcp.base.locks import is_locked
from codex_mcp.state.contract import Claim, Fenced, Node
from codex_mcp.state.lease import Standing, may_judge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import asyncpg

    from codex_mcp.state.contract import Bounds

NOW: Final = "coalesce($1::float8, extract(epoch FROM clock_timestamp())::float8)"
"""The time of the database, whose first parameter is that of a test."""

NODES: Final = f"SELECT id, pid, host, boot, lock, address, since, expires, {NOW} AS now FROM node"

CLAIMED: Final = "SELECT 1 FROM claim WHERE thread = $1 AND node = $2 AND token = $3 FOR SHARE"
"""Whether a claim is valid, in the statement that writes. `FOR SHARE` holds up who takes the thread over until the
write is stored; without it the write could appear after the new owner has read."""


def put_record(kind: str, key: str, body: str) -> str:
    """What writes a record, in a statement that has looked whether the claim is valid."""
    return (
        f"INSERT INTO record (kind, key, body) SELECT {kind}, {key}, {body} FROM claimed"
        " ON CONFLICT (kind, key) DO UPDATE SET body = excluded.body, changed = excluded.changed"
    )


class NodesView:
    """The view of one store. `me` is its node id, once it has joined."""

    def __init__(self, bounds: Bounds, boot: str, clock: Callable[[], float] | None) -> None:
        self.bounds = bounds
        self.boot = boot
        self.me: str | None = None
        self._clock = clock

    @property
    def now(self) -> float | None:
        """The time of a test; None for that of the database."""
        return None if self._clock is None else self._clock()

    def became(self, me: str | None) -> None:
        self.me = me

    async def nodes(self, connection: asyncpg.Connection, ids: Iterable[str] | None = None) -> dict[str, Node]:
        """The nodes with these ids, or all, as they are now."""
        asked = None if ids is None else [*ids, *([] if self.me is None else [self.me])]
        rows = await connection.fetch(f"{NODES} WHERE $2::text[] IS NULL OR id = ANY($2) ORDER BY id", self.now, asked)
        mine = next((Standing(row["since"], row["expires"]) for row in rows if row["id"] == self.me), None)
        return {row["id"]: await self._judge(row, mine) for row in rows}

    async def owner(self, connection: asyncpg.Connection, thread: str) -> tuple[Claim, Node] | None:
        row = await connection.fetchrow("SELECT thread, node, token FROM claim WHERE thread = $1", thread)
        if row is None:
            return None
        claim = Claim(*row)
        node = (await self.nodes(connection, [claim.node])).get(claim.node)
        return None if node is None else (claim, node)

    async def _judge(self, row: asyncpg.Record, mine: Standing | None) -> Node:
        alive = row["id"] == self.me or not (self._is_late(row, mine) or await self._has_died(row))
        return Node(row["id"], row["pid"], row["host"], row["address"], row["expires"], alive)

    def _is_late(self, row: asyncpg.Record, mine: Standing | None) -> bool:
        now: float = row["now"]
        return now >= row["expires"] and may_judge(mine, now, self.bounds.ttl)

    async def _has_died(self, row: asyncpg.Record) -> bool:
        """Whether its lock lies here and is free. Where it cannot be seen, only its lease says that a node is dead."""
        if not self.boot or row["boot"] != self.boot:
            return False
        with contextlib.suppress(OSError):
            return not await in_thread(is_locked, row["lock"])
        return False


def fence(claim: Claim, *, valid: bool) -> None:
    if not valid:
        raise Fenced(claim)
