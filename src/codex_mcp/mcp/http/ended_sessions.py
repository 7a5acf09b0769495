"""The ids of sessions that clients have ended, on disk, so that a restarted server does not restore them.

Only ids that the server created are kept, as hashes, and only as long as they could be restored.
"""

from __future__ import annotations

import hashlib
import logging
import os
import sqlite3
import time
from typing import Final

from codex_mcp.base.errors import Refused
from codex_mcp.state.embedded.opening import open_small_database

logger = logging.getLogger(__name__)

DATABASE: Final = os.path.join("codex-mcp", "ended-sessions.db")

TABLE: Final = "CREATE TABLE IF NOT EXISTS ended (id BLOB PRIMARY KEY, expires REAL NOT NULL)"

KEPT: Final = 100_000
"""Ids, some 6 MiB. Beyond that, the ids that expire first are dropped."""


class EndedSessions:
    def __init__(self, codex_home: str, kept: int = KEPT) -> None:
        path = os.path.join(codex_home, DATABASE)
        self._kept = kept
        try:
            self._database = open_small_database(path, "PRAGMA synchronous = NORMAL", TABLE)
        except (OSError, sqlite3.Error) as exc:
            raise Refused(
                f"cannot use {path}, which lists the sessions that have ended: {exc}; check its permissions, "
                "or remove the file to start a new list"
            ) from exc

    def __contains__(self, session_id: str) -> bool:
        found = self._database.execute("SELECT 1 FROM ended WHERE id = ?", (_hash(session_id),)).fetchone()
        return found is not None

    def add(self, session_id: str, expires: float) -> None:
        run = self._database.execute
        try:
            run("INSERT OR REPLACE INTO ended VALUES (?, ?)", (_hash(session_id), expires))
            run("DELETE FROM ended WHERE expires < ?", (time.time(),))
            run(
                "DELETE FROM ended WHERE id IN (SELECT id FROM ended ORDER BY expires DESC LIMIT -1 OFFSET ?)",
                (self._kept,),
            )
        except sqlite3.Error as exc:
            logger.error("cannot record that a session has ended: %s; after a restart its id is valid again", exc)

    def close(self) -> None:
        self._database.close()


def _hash(session_id: str) -> bytes:
    return hashlib.sha256(session_id.encode()).digest()[:16]
