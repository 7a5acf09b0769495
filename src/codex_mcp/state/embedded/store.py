"""The store of one machine, in a folder: SQLite for the data, and one file lock per node as its sign of life.

Several servers may share a folder. The clock is the machine's monotonic clock, which all processes share; it restarts
with the machine, and then no earlier lock is held.
"""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from codex_mcp.state.contract import Bounds, NotEmpty, Unavailable
from codex_mcp.state.embedded import rows as all_rows
from codex_mcp.state.embedded.database import Database
from codex_mcp.state.embedded.journal import EmbeddedJournal
from codex_mcp.state.embedded.leases import EmbeddedLeases
from codex_mcp.state.embedded.records import EmbeddedRecords
from codex_mcp.state.embedded.view import StoreView

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from codex_mcp.state.rows import Row


async def open_store(
    state_dir: str, bounds: Bounds | None = None, clock: Callable[[], float] = time.monotonic
) -> EmbeddedStore:
    """The store of a folder, created if it is missing. Raises Unavailable."""
    database = Database(state_dir)
    await database.open()
    return EmbeddedStore(database, StoreView(state_dir, bounds or Bounds(), clock))


class EmbeddedStore:
    """See `contract.Store`. Created by `open_store`."""

    spans_machines = False

    def __init__(self, database: Database, view: StoreView) -> None:
        self._database = database
        self.bounds = view.bounds
        self.leases = EmbeddedLeases(database, view)
        self.records = EmbeddedRecords(database, view)
        self.journal = EmbeddedJournal(database, view, self.records.put_in)

    async def dump(self, write: Callable[[Row], None]) -> None:
        await self._database.read(lambda db: all_rows.dump(db, write))

    async def fill(self, rows: Iterable[Row]) -> None:
        if any(node.alive for node in await self.leases.nodes()):
            raise NotEmpty
        await self._database.write(lambda db: all_rows.fill(db, rows))

    async def aclose(self) -> None:
        """Leave and close. A failing disk does not prevent this."""
        with contextlib.suppress(Unavailable):
            await self.leases.leave()
        await self.abandon()

    async def abandon(self) -> None:
        """Close without leaving: other nodes find this one dead and can take over its threads."""
        with contextlib.suppress(Unavailable):
            await self._database.aclose()
        self.leases.abandon()
