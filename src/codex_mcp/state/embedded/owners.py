"""Thread owners in a small database beside Codex's own files, shared by all HTTP servers of one Codex home."""

from __future__ import annotations

import asyncio
import os
from typing import Final

from codex_mcp.base.principals import LOCAL
from codex_mcp.state.embedded.small_database import SmallDatabase

DATABASE: Final = os.path.join("codex-mcp", "owners.db")

TABLE: Final = "CREATE TABLE IF NOT EXISTS owners (thread TEXT PRIMARY KEY, principal TEXT NOT NULL)"


class EmbeddedOwners:
    """Owners on disk. Threads without an entry belong to the local principal."""

    def __init__(self, codex_home: str) -> None:
        path = os.path.join(codex_home, DATABASE)
        self._database = SmallDatabase(
            path, lambda error: f"cannot read thread owners in {path}: {error}; repair or restore the file", TABLE
        )
        self.open = self._database.open
        self.aclose = self._database.aclose

    async def owner(self, thread: str) -> str:
        statement = "SELECT principal FROM owners WHERE thread = ?"
        row = await self._database.run(lambda owners: owners.execute(statement, (thread,)).fetchone())
        return LOCAL if row is None else str(row[0])

    async def record(self, thread: str, principal: str) -> None:
        if principal == LOCAL:
            return
        statement = "INSERT OR IGNORE INTO owners VALUES (?, ?)"
        writing = self._database.run(lambda owners: owners.execute(statement, (thread, principal)))
        await asyncio.shield(writing)  # a caller that is cancelled, as at a shutdown, leaves the write queued
