"""The store of several machines, in PostgreSQL. A server keeps its lock and its files in its own state folder."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from codex_mcp.base.blocking import in_thread
from codex_mcp.base.processes.boots import boot_id
from codex_mcp.state.contract import Bounds, NotEmpty, Unavailable
from codex_mcp.state.postgres.engine import Engine
from codex_mcp.state.postgres.journal import PostgresJournal
from codex_mcp.state.postgres.leases import PostgresLeases
from codex_mcp.state.postgres.records import PostgresRecords
from codex_mcp.state.postgres.rows import dump, fill
from codex_mcp.state.postgres.view import NodesView

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from codex_mcp.state.rows import Row


async def open_store(
    dsn: str,
    state_dir: str,
    bounds: Bounds | None = None,
    clock: Callable[[], float] | None = None,
    *,
    secret: str | None = None,
) -> PostgresStore:
    """The store of a database, whose tables are made if they are missing. Raises Refused or Unavailable.

    `clock` is for tests; otherwise only the clock of the database counts. `secret`: see `state/opening`.
    """
    engine = Engine(dsn, secret)
    await engine.open()
    return PostgresStore(engine, NodesView(bounds or Bounds(), await in_thread(boot_id), clock), state_dir)


class PostgresStore:
    """See `contract.Store`. Created by `open_store`."""

    spans_machines = True

    def __init__(self, engine: Engine, view: NodesView, state_dir: str) -> None:
        self._engine = engine
        self.bounds = view.bounds
        self.leases = PostgresLeases(engine, view, state_dir)
        self.records = PostgresRecords(engine, view)
        self.journal = PostgresJournal(engine, view.bounds)

    async def dump(self, write: Callable[[Row], None]) -> None:
        await self._engine.look(lambda connection: dump(connection, write))

    async def fill(self, rows: Iterable[Row]) -> None:
        if any(node.alive for node in await self.leases.nodes()):
            raise NotEmpty
        await self._engine.write(lambda connection: fill(connection, rows))

    async def aclose(self) -> None:
        """Leave and close. A database that does not answer does not prevent this."""
        with contextlib.suppress(Unavailable):
            await self.leases.leave()
        await self.abandon()

    async def abandon(self) -> None:
        """Close without leaving: other nodes find this one dead and can take over its threads."""
        await self._engine.aclose()
        self.leases.abandon()
