"""Leases in PostgreSQL: nodes and the claims of threads. Time is the database's, a node's lock is on its machine."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING, Final

from codex_mcp.base.blocking import in_thread
from codex_mcp.state.contract import Claim, LeaseLost, Node, OwnedBy, Renewed, TakenOver
from codex_mcp.state.embedded.flock import NodeLock, lock_path, remove_dead_locks
from codex_mcp.state.lease import joined
from codex_mcp.state.postgres.view import NOW, NodesView, fence

if TYPE_CHECKING:
    import asyncpg

    from codex_mcp.state.postgres.engine import Engine

JOIN: Final = (
    "INSERT INTO node SELECT $2::text, $3::bigint, $4::text, $5::text, $6::text, $7::text, t, t + $8::float8"
    f" FROM (SELECT {NOW} AS t) AS clock RETURNING since"
)

RENEW: Final = (
    f"WITH clock AS (SELECT {NOW} AS t) UPDATE node SET since = CASE WHEN t < expires THEN since ELSE t END,"
    " expires = greatest(expires, t + $3::float8) FROM clock WHERE id = $2 RETURNING 1"
)
"""The rule of `lease.after_renewal`, by the database's clock."""

CLAIM_FREE: Final = (
    "INSERT INTO claim SELECT $1, $2, nextval('token') ON CONFLICT DO NOTHING RETURNING thread, node, token"
)

CLAIM_FROM: Final = (
    "UPDATE claim SET node = $2, token = nextval('token') WHERE thread = $1 AND node = $3 AND token = $4"
    " RETURNING thread, node, token"
)

TAKE: Final = (
    "WITH new AS (SELECT thread, nextval('token') AS token"
    " FROM (SELECT thread FROM claim WHERE node = $2 ORDER BY thread FOR UPDATE) AS old)"
    " UPDATE claim SET node = $1, token = new.token FROM new WHERE claim.thread = new.thread"
    " RETURNING claim.thread, claim.node, claim.token"
)

FORGET_THE_DEAD: Final = "DELETE FROM node WHERE id = ANY($1) AND NOT EXISTS (SELECT 1 FROM claim WHERE node = id)"


class PostgresLeases:
    """See `contract.Leases`."""

    def __init__(self, engine: Engine, view: NodesView, state_dir: str) -> None:
        self._engine = engine
        self._view = view
        self._state_dir = state_dir
        self._lock: NodeLock | None = None

    async def join(self, address: str = "") -> Node:
        """Become a node: the lock comes first, so that no row is ever without its lock."""
        await self.leave()
        node_id = os.urandom(6).hex()
        self._lock = await in_thread(NodeLock, self._state_dir, node_id)
        return await self._engine.write(lambda connection: self._join(connection, node_id, address))

    async def renew(self) -> Renewed | TakenOver:
        me = self._view.me
        if me is None:
            raise LeaseLost
        arguments = (self._view.now, me, self._view.bounds.ttl)
        renewed = await self._engine.renew(lambda connection: connection.fetchval(RENEW, *arguments))
        return Renewed() if renewed else TakenOver()

    async def leave(self) -> None:
        me = self._view.me
        if me is not None:
            await self._engine.write(lambda connection: self._leave(connection, me))
        self._view.became(None)
        await self._give_up()

    def abandon(self) -> None:
        """End like a killed process: the rows stay and the lock is freed."""
        if self._lock is not None:
            self._lock.drop()

    async def claim(self, thread: str) -> Claim | OwnedBy:
        claim = None
        while claim is None:  # another node has claimed it between the look and the claim
            claim = await self._engine.run(lambda connection: self._claim(connection, thread))
        return claim

    async def take(self, node_id: str) -> list[Claim]:
        return await self._engine.write(lambda connection: self._take(connection, node_id))

    async def release(self, claim: Claim) -> None:
        statement = "DELETE FROM claim WHERE thread = $1 AND node = $2 AND token = $3 RETURNING 1"
        place = (claim.thread, claim.node, claim.token)
        fence(claim, valid=bool(await self._engine.run(lambda connection: connection.fetchval(statement, *place))))

    async def nodes(self) -> list[Node]:
        return [*(await self._engine.run(self._view.nodes)).values()]

    async def owner(self, thread: str) -> Node | None:
        owned = await self._engine.run(lambda connection: self._view.owner(connection, thread))
        return None if owned is None else owned[1]

    async def _join(self, connection: asyncpg.Connection, node_id: str, address: str) -> Node:
        view, host = self._view, socket.gethostname()
        seen = await view.nodes(connection)
        await connection.execute(FORGET_THE_DEAD, [node.id for node in seen.values() if not node.alive])
        lock, ttl = lock_path(self._state_dir, node_id), view.bounds.ttl
        row = (node_id, os.getpid(), host, view.boot, lock, address, ttl)
        since = await connection.fetchval(JOIN, view.now, *row)
        await in_thread(remove_dead_locks, self._state_dir, frozenset(seen))
        view.became(node_id)
        return Node(node_id, os.getpid(), host, address, joined(since, ttl).expires, alive=True)

    async def _leave(self, connection: asyncpg.Connection, me: str) -> None:
        await connection.execute("DELETE FROM claim WHERE node = $1", me)
        await connection.execute("DELETE FROM node WHERE id = $1", me)

    async def _give_up(self) -> None:
        if self._lock is not None:
            await in_thread(self._lock.give_up)
            self._lock = None

    async def _claim(self, connection: asyncpg.Connection, thread: str) -> Claim | OwnedBy | None:
        import asyncpg  # noqa: PLC0415  an extra

        me = await self._member(connection)
        owned = await self._view.owner(connection, thread)
        try:
            if owned is None:
                row = await connection.fetchrow(CLAIM_FREE, thread, me)
            else:
                current, owner = owned
                if owner.alive and owner.id != me:
                    return OwnedBy(owner, current.token)
                row = await connection.fetchrow(CLAIM_FROM, thread, me, current.node, current.token)
        except asyncpg.ForeignKeyViolationError:  # just now another node has found this one dead
            raise LeaseLost from None
        return None if row is None else Claim(*row)

    async def _take(self, connection: asyncpg.Connection, node_id: str) -> list[Claim]:
        me = await self._member(connection)
        # It cannot renew its lease between this look and its end.
        await connection.execute("SELECT 1 FROM node WHERE id = $1 FOR UPDATE", node_id)
        node = (await self._view.nodes(connection, [node_id])).get(node_id)
        if node is None or node.alive:
            return []
        claims = [Claim(*row) for row in await connection.fetch(TAKE, me, node_id)]
        await connection.execute("DELETE FROM node WHERE id = $1", node_id)
        return sorted(claims, key=lambda claim: claim.thread)

    async def _member(self, connection: asyncpg.Connection) -> str:
        me = self._view.me
        if me is None or not await connection.fetchval("SELECT 1 FROM node WHERE id = $1", me):
            raise LeaseLost
        return me
