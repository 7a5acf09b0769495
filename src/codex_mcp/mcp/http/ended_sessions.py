"""The ids of sessions that clients have ended, on disk, so that a restarted server does not restore them.

Only ids that the server created are kept, as hashes, and only as long as they could be restored.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import time
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Final

from codex_mcp.state.contract import Unavailable
from codex_mcp.state.embedded.small_database import SmallDatabase

if TYPE_CHECKING:
    import sqlite3

logger = logging.getLogger(__name__)

DATABASE: Final = os.path.join("codex-mcp", "ended-sessions.db")

TABLE: Final = "CREATE TABLE IF NOT EXISTS ended (id BLOB PRIMARY KEY, expires REAL NOT NULL)"

KEPT: Final = 100_000
"""Ids, some 6 MiB. Beyond that, the ids that expire first are dropped."""


class EndedSessions:
    """The list, on a thread of its own: whoever holds the database's lock delays no client that it does not concern."""

    def __init__(self, codex_home: str, kept: int = KEPT) -> None:
        path = os.path.join(codex_home, DATABASE)
        self._kept = kept
        self._database = SmallDatabase(
            path,
            lambda error: (
                f"cannot use {path}, which lists the sessions that have ended: {error}; check its permissions, "
                "or remove the file to start a new list"
            ),
            "PRAGMA synchronous = NORMAL",
            TABLE,
        )
        self.open = self._database.open
        self.aclose = self._database.aclose

    async def has(self, session_id: str) -> bool:
        """Whether it has ended. If that cannot be known, it has not: its client would have to begin again."""
        statement = "SELECT 1 FROM ended WHERE id = ?"
        try:
            found = await self._database.run(lambda ended: ended.execute(statement, (_hash(session_id),)).fetchone())
        except Unavailable as exc:
            logger.error("cannot tell whether a session has ended: %s", exc)
            return False
        return found is not None

    def add(self, session_id: str, expires: float) -> Coroutine[None, None, None]:
        """Record an end: queued at once; the result waits until it is on the disk."""
        return self._wait_for(self._database.run(lambda ended: self._add(ended, session_id, expires)))

    async def _wait_for(self, writing: asyncio.Future[None]) -> None:
        try:
            await asyncio.shield(writing)
        except Unavailable as exc:
            logger.error("cannot record that a session has ended: %s; after a restart its id is valid again", exc)

    def _add(self, ended: sqlite3.Connection, session_id: str, expires: float) -> None:
        run = ended.execute
        run("INSERT OR REPLACE INTO ended VALUES (?, ?)", (_hash(session_id), expires))
        run("DELETE FROM ended WHERE expires < ?", (time.time(),))
        run(
            "DELETE FROM ended WHERE id IN (SELECT id FROM ended ORDER BY expires DESC LIMIT -1 OFFSET ?)",
            (self._kept,),
        )


def _hash(session_id: str) -> bytes:
    return hashlib.sha256(session_id.encode()).digest()[:16]
