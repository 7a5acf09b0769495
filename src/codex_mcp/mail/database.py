"""The database of the mail, `mail.db` in the state folder: what was sent but is not certain, what was delivered, and
the turns that it began.

All processes of a state folder share it. Every change is on the disk before the caller goes on.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, TypeVar

from codex_mcp.state.contract import Unavailable
from codex_mcp.state.embedded.opening import open_small_database
from codex_mcp.state.embedded.transaction import in_transaction
from codex_mcp.state.embedded.worker import Worker

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

T = TypeVar("T")

NAME: Final = "mail.db"

TABLES: Final = (
    "PRAGMA synchronous = FULL",
    "CREATE TABLE IF NOT EXISTS outgoing (id TEXT PRIMARY KEY, agent TEXT NOT NULL, team TEXT NOT NULL,"
    " record TEXT NOT NULL, stage TEXT NOT NULL, is_rechecked INTEGER NOT NULL, checks INTEGER NOT NULL,"
    " writes INTEGER NOT NULL, due REAL NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS delivery (agent TEXT, team TEXT, id TEXT, stage TEXT NOT NULL, offers INTEGER NOT NULL,"
    " PRIMARY KEY (team, agent, id)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS traffic (at REAL NOT NULL, agent TEXT NOT NULL, team TEXT NOT NULL,"
    " senders TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS notices (agent TEXT, team TEXT, at REAL NOT NULL, PRIMARY KEY (team, agent))"
    " WITHOUT ROWID",
)


class MailDatabase:
    """Runs jobs one after the other on its own thread, each in its own transaction."""

    def __init__(self, state_dir: str) -> None:
        path = self._path = os.path.join(state_dir, NAME)
        self._worker = Worker(
            lambda error: Unavailable(
                f"The mail's database {path} cannot be used: {error}. Check that folder, its disk and its permissions."
            )
        )
        self._connection: sqlite3.Connection | None = None

    async def open(self) -> None:
        """Raises Unavailable; then there is nothing to close."""
        self._connection = await self._worker.open(lambda: open_small_database(self._path, *TABLES))

    async def write(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """What the job returns, after its writes are stored. If it raises, nothing is written."""
        return await self._worker.run(lambda: in_transaction(self._opened(), job))

    async def aclose(self) -> None:
        await self._worker.aclose(self._close)

    # From here on everything runs in the worker.

    def _opened(self) -> sqlite3.Connection:
        assert self._connection is not None, "it is used before it is opened"
        return self._connection

    def _close(self) -> None:
        self._opened().close()
