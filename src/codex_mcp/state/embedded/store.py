"""The state of one machine in a folder: SQLite for what is written, a lock per node as its sign of life.

Two servers on one folder are already a team of two. The clock is the machine's monotonic one, which all processes
share; it begins anew with the machine, and then no lock of before is held.
"""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from codex_mcp.state.contract import Bounds, Unavailable
from codex_mcp.state.embedded.database import Database
from codex_mcp.state.embedded.journal import EmbeddedJournal
from codex_mcp.state.embedded.leases import EmbeddedLeases
from codex_mcp.state.embedded.records import EmbeddedRecords
from codex_mcp.state.embedded.view import StoreView

if TYPE_CHECKING:
    from collections.abc import Callable


async def open_store(
    state_dir: str, bounds: Bounds | None = None, clock: Callable[[], float] = time.monotonic
) -> EmbeddedStore:
    """The store of a folder, which is made if need be. Unavailable if the folder cannot be used."""
    database = Database(state_dir)
    await database.open()
    return EmbeddedStore(database, StoreView(state_dir, bounds or Bounds(), clock))


class EmbeddedStore:
    """One node's way to the folder. Made by `open_store`."""

    def __init__(self, database: Database, view: StoreView) -> None:
        self._database = database
        self.bounds = view.bounds
        self.leases = EmbeddedLeases(database, view)
        self.records = EmbeddedRecords(database, view)
        self.journal = EmbeddedJournal(database, view)

    async def aclose(self) -> None:
        """Leave, end all followers, and close. A disk that fails meanwhile keeps nobody from ending."""
        with contextlib.suppress(Unavailable):
            await self.leases.leave()
        await self.abandon()

    async def abandon(self) -> None:
        """Close without leaving: the others find this node dead, and what it owned can be taken over."""
        with contextlib.suppress(Unavailable):
            await self._database.aclose()
        self.leases.abandon()
        self.journal.tell_followers()
