"""Leases in the database: nodes and the claims of threads."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

from codex_mcp.state.contract import Claim, LeaseLost, Node, OwnedBy, Renewed, TakenOver
from codex_mcp.state.embedded.flock import NodeLock, has_died, remove_dead_locks
from codex_mcp.state.embedded.view import check, current_claim, standing_of
from codex_mcp.state.lease import after_renewal, joined

if TYPE_CHECKING:
    import asyncio
    import sqlite3

    from codex_mcp.state.embedded.database import Database
    from codex_mcp.state.embedded.view import StoreView


class EmbeddedLeases:
    """See `contract.Leases`."""

    def __init__(self, database: Database, view: StoreView) -> None:
        self._database = database
        self._view = view
        self._lock: NodeLock | None = None

    async def join(self, address: str = "") -> Node:
        """Become a node: the lock comes first, so that no row is ever without its lock."""
        await self.leave()
        node_id, sent_at = os.urandom(6).hex(), self._view.clock()
        return await self._database.write(lambda db: self._join(db, node_id, address, sent_at))

    async def renew(self) -> Renewed | TakenOver:
        """Extend the lease, counted from now: the database may answer late."""
        me, sent_at = self._view.me, self._view.clock()
        if me is None:
            raise LeaseLost
        return await self._database.write(lambda db: self._renew(db, me, sent_at))

    def leave(self) -> asyncio.Future[None]:
        return self._database.write(self._leave)

    def abandon(self) -> None:
        """End like a killed process: the rows stay and the lock is freed. The database must be closed."""
        if self._lock is not None:
            self._lock.drop()

    def claim(self, thread: str) -> asyncio.Future[Claim | OwnedBy]:
        return self._database.write(lambda db: self._claim(db, thread))

    def take(self, node_id: str) -> asyncio.Future[list[Claim]]:
        return self._database.write(lambda db: self._take(db, node_id))

    def release(self, claim: Claim) -> asyncio.Future[None]:
        def job(db: sqlite3.Connection) -> None:
            check(db, claim)
            db.execute("DELETE FROM claim WHERE thread = ?", (claim.thread,))

        return self._database.write(job)

    def nodes(self) -> asyncio.Future[list[Node]]:
        def job(db: sqlite3.Connection) -> list[Node]:
            ids = db.execute("SELECT id FROM node ORDER BY id").fetchall()
            return [node for (node_id,) in ids if (node := self._view.node(db, node_id))]

        return self._database.read(job)

    def owner(self, thread: str) -> asyncio.Future[Node | None]:
        return self._database.read(lambda db: self._view.owner(db, thread))

    # From here on everything runs in the worker, inside a transaction.

    def _join(self, db: sqlite3.Connection, node_id: str, address: str, sent_at: float) -> Node:
        self._forget_the_dead(db)
        self._lock = NodeLock(self._view.state_dir, node_id)
        standing = joined(sent_at, self._view.bounds.ttl)
        node = Node(node_id, os.getpid(), socket.gethostname(), address, standing.expires, alive=True)
        row = (node.id, node.pid, node.host, node.address, standing.since, standing.expires)
        db.execute("INSERT INTO node VALUES (?, ?, ?, ?, ?, ?)", row)
        self._view.me = node_id
        return node

    def _leave(self, db: sqlite3.Connection) -> None:
        # Here and not in the caller, since a cancelled join may still be under way.
        db.execute("DELETE FROM claim WHERE node = ?", (self._view.me,))
        db.execute("DELETE FROM node WHERE id = ?", (self._view.me,))
        self._view.me = None
        if self._lock is not None:
            self._lock.give_up()

    def _forget_the_dead(self, db: sqlite3.Connection) -> None:
        idle = db.execute("SELECT id FROM node WHERE id NOT IN (SELECT node FROM claim)").fetchall()
        gone = [(node_id,) for (node_id,) in idle if has_died(self._view.state_dir, node_id)]
        db.executemany("DELETE FROM node WHERE id = ?", gone)
        known = frozenset(node_id for (node_id,) in db.execute("SELECT id FROM node"))
        remove_dead_locks(self._view.state_dir, known)

    def _renew(self, db: sqlite3.Connection, me: str, sent_at: float) -> Renewed | TakenOver:
        before = standing_of(db, me)
        if before is None:
            return TakenOver()
        standing = after_renewal(before, sent_at, self._view.bounds.ttl)
        db.execute("UPDATE node SET since = ?, expires = ? WHERE id = ?", (standing.since, standing.expires, me))
        return Renewed()

    def _claim(self, db: sqlite3.Connection, thread: str) -> Claim | OwnedBy:
        me = self._member(db)
        current = current_claim(db, thread)
        if current is not None and current.node != me:
            owner = self._view.node(db, current.node)
            if owner is not None and owner.alive:
                return OwnedBy(owner, current.token)
        return _new_claim(db, thread, me)

    def _take(self, db: sqlite3.Connection, node_id: str) -> list[Claim]:
        me = self._member(db)
        node = self._view.node(db, node_id)
        if node is None or node.alive:
            return []
        threads = db.execute("SELECT thread FROM claim WHERE node = ? ORDER BY thread", (node_id,)).fetchall()
        claims = [_new_claim(db, thread, me) for (thread,) in threads]
        db.execute("DELETE FROM node WHERE id = ?", (node_id,))
        return claims

    def _member(self, db: sqlite3.Connection) -> str:
        me = self._view.me
        if me is None or standing_of(db, me) is None:
            raise LeaseLost
        return me


def _new_claim(db: sqlite3.Connection, thread: str, me: str) -> Claim:
    db.execute("UPDATE token SET last = last + 1")
    (token,) = db.execute("SELECT last FROM token").fetchone()
    db.execute("INSERT OR REPLACE INTO claim VALUES (?, ?, ?)", (thread, me, token))
    return Claim(thread, me, token)
