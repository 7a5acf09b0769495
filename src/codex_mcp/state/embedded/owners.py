"""Thread owners in a small database beside Codex's own files, shared by all HTTP servers of one Codex home."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Final

from codex_mcp.base.principals import LOCAL
from codex_mcp.state.contract import Unavailable
from codex_mcp.state.embedded.opening import open_small_database
from codex_mcp.state.embedded.worker import Worker

if TYPE_CHECKING:
    import sqlite3

DATABASE: Final = os.path.join("codex-mcp", "owners.db")

TABLE: Final = "CREATE TABLE IF NOT EXISTS owners (thread TEXT PRIMARY KEY, principal TEXT NOT NULL)"


class EmbeddedOwners:
    """Owners on disk. Threads without an entry belong to the local principal."""

    def __init__(self, codex_home: str) -> None:
        path = self._path = os.path.join(codex_home, DATABASE)
        self._worker = Worker(
            lambda error: Unavailable(f"cannot read thread owners in {path}: {error}; repair or restore the file")
        )
        self._connection: sqlite3.Connection | None = None

    async def open(self) -> None:
        """Open the file before anything else. Raises Unavailable; then there is nothing to close."""
        self._connection = await self._worker.open(lambda: open_small_database(self._path, TABLE))

    async def owner(self, thread: str) -> str:
        statement = "SELECT principal FROM owners WHERE thread = ?"
        row = await self._worker.run(lambda: self._database().execute(statement, (thread,)).fetchone())
        return LOCAL if row is None else str(row[0])

    async def record(self, thread: str, principal: str) -> None:
        if principal == LOCAL:
            return
        row = (thread, principal)
        writing = self._worker.run(lambda: self._database().execute("INSERT OR IGNORE INTO owners VALUES (?, ?)", row))
        await asyncio.shield(writing)  # a caller that is cancelled, as at a shutdown, leaves the write queued

    async def aclose(self) -> None:
        await self._worker.aclose(self._database().close)

    def _database(self) -> sqlite3.Connection:
        assert self._connection is not None, "it is used before it is opened"
        return self._connection
