"""A small database file that several processes share: opened, read and written on a thread of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from codex_mcp.state.contract import Unavailable
from codex_mcp.state.embedded.opening import open_small_database
from codex_mcp.state.embedded.transaction import in_transaction
from codex_mcp.state.embedded.worker import Worker

if TYPE_CHECKING:
    import asyncio
    import sqlite3
    from collections.abc import Callable

T = TypeVar("T")


class SmallDatabase:
    """Runs jobs one after the other. Each job gets the connection."""

    def __init__(self, path: str, explain: Callable[[Exception], str], *statements: str) -> None:
        """`explain` says what an error is about and what to do. `statements` make the tables."""
        self._path = path
        self._statements = statements
        self._worker = Worker(lambda error: Unavailable(explain(error)))
        self._connection: sqlite3.Connection | None = None

    async def open(self) -> None:
        """Open the file before anything else. Raises Unavailable; then there is nothing to close."""
        self._connection = await self._worker.open(lambda: open_small_database(self._path, *self._statements))

    def run(self, job: Callable[[sqlite3.Connection], T]) -> asyncio.Future[T]:
        """Queue a job at once. Each of its statements is a transaction."""
        return self._worker.run(lambda: self._done(job))

    def write(self, job: Callable[[sqlite3.Connection], T]) -> asyncio.Future[T]:
        """Queue a job whose writes are stored together when it returns. If it raises, nothing is written."""
        return self._worker.run(lambda: self._done(lambda connection: in_transaction(connection, job)))

    async def aclose(self) -> None:
        await self._worker.aclose(self._close)

    # From here on everything runs in the worker.

    def _done(self, job: Callable[[sqlite3.Connection], T]) -> T:
        return job(self._opened())

    def _close(self) -> None:
        self._opened().close()

    def _opened(self) -> sqlite3.Connection:
        assert self._connection is not None, "it is used before it is opened"
        return self._connection
