"""What one node sees in the database: which nodes are alive, which claims are valid. Used inside transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codex_mcp.state.contract import Claim, Fenced, Node
from codex_mcp.state.embedded.flock import has_died
from codex_mcp.state.lease import Standing, may_judge

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    from codex_mcp.state.contract import Bounds


class StoreView:
    """The view of one store. `me` is its node id, once it has joined."""

    def __init__(self, state_dir: str, bounds: Bounds, clock: Callable[[], float]) -> None:
        self.state_dir = state_dir
        self.bounds = bounds
        self.clock = clock
        self.me: str | None = None

    def node(self, db: sqlite3.Connection, node_id: str) -> Node | None:
        row = db.execute("SELECT id, pid, host, address, expires FROM node WHERE id = ?", (node_id,)).fetchone()
        if row is None:
            return None
        known_id, pid, host, address, expires = row
        return Node(known_id, pid, host, address, expires, self._is_alive(db, known_id, expires))

    def owner(self, db: sqlite3.Connection, thread: str) -> Node | None:
        current = current_claim(db, thread)
        return self.node(db, current.node) if current else None

    def _is_alive(self, db: sqlite3.Connection, node_id: str, expires: float) -> bool:
        if node_id == self.me:
            return True
        if has_died(self.state_dir, node_id):
            return False
        now = self.clock()
        return now < expires or not may_judge(standing_of(db, self.me), now, self.bounds.ttl)


def standing_of(db: sqlite3.Connection, node_id: str | None) -> Standing | None:
    row = db.execute("SELECT since, expires FROM node WHERE id = ?", (node_id,)).fetchone()
    return Standing(*row) if row else None


def current_claim(db: sqlite3.Connection, thread: str) -> Claim | None:
    row = db.execute("SELECT thread, node, token FROM claim WHERE thread = ?", (thread,)).fetchone()
    return Claim(*row) if row else None


def check(db: sqlite3.Connection, claim: Claim) -> None:
    if current_claim(db, claim.thread) != claim:
        raise Fenced(claim)
