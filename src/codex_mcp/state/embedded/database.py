"""The database of a state folder: jobs in transactions, run off the event loop."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, TypeVar

from codex_mcp.state.contract import Unavailable
from codex_mcp.state.embedded import opening
from codex_mcp.state.embedded.opening import NAME, open_database, sqlite
from codex_mcp.state.embedded.transaction import in_transaction
from codex_mcp.state.embedded.worker import Worker

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

T = TypeVar("T")

LOCKED_TIMEOUT: Final = 0.05
"""Seconds to wait for a lock after another process has already held it for longer than BUSY_TIMEOUT."""


class Database:
    """Runs jobs one after the other, each in its own transaction."""

    def __init__(self, state_dir: str) -> None:
        self._state_dir = state_dir
        self._path = os.path.join(state_dir, NAME)
        self._worker = Worker(
            lambda error: Unavailable(
                f"The state in {state_dir} cannot be used: {error}. Check that folder, its disk and its permissions."
            )
        )
        self._connection: sqlite3.Connection | None = None
        self._file: os.stat_result | None = None
        self._lock_timeout = opening.BUSY_TIMEOUT
        self._failed = 0

    async def open(self) -> None:
        """Open the file. Raises Unavailable; then there is nothing to close."""
        await self._worker.open(self._open)

    async def read(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """What the job returns. It sees one consistent state of the database."""
        return await self._worker.run(lambda: self._in_transaction("BEGIN", job))

    async def write(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """What the job returns, after its writes are stored. If it raises, nothing is written.

        A caller that is cancelled does not know whether the write happened.
        """
        return await self._worker.run(lambda: self._written(job))

    async def aclose(self) -> None:
        await self._worker.aclose(self._close)

    # From here on everything runs in the worker.

    def _open(self) -> None:
        self._connection = open_database(self._state_dir)
        self._file = os.stat(self._path)

    def _written(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """One write. After a write that could not get the lock, the next ones wait only briefly until one succeeds."""
        try:
            result = self._in_transaction("BEGIN IMMEDIATE", job)
        except sqlite().OperationalError as error:
            if not getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY"):
                raise
            self._wait_for_lock(LOCKED_TIMEOUT)
            raise Unavailable(
                f"The state in {self._state_dir} cannot be written: another process keeps its database locked. "
                "End what uses it, or wait; reading goes on."
            ) from error
        self._wait_for_lock(opening.BUSY_TIMEOUT)
        return result

    def _wait_for_lock(self, seconds: float) -> None:
        if seconds != self._lock_timeout:
            assert self._connection is not None
            self._connection.execute(f"PRAGMA busy_timeout = {round(seconds * 1000)}")
            self._lock_timeout = seconds

    def version(self, db: sqlite3.Connection) -> tuple[int, int]:
        """Changes when another process has written something, or a write of ours has failed."""
        return (db.execute("PRAGMA data_version").fetchone()[0], self._failed)

    def _in_transaction(self, begin: str, job: Callable[[sqlite3.Connection], T]) -> T:
        connection = self._connection
        assert connection is not None
        self._check_file()
        try:
            return in_transaction(connection, job, begin)
        except BaseException:
            self._failed += 1
            raise

    def _check_file(self) -> None:
        """SQLite would go on using a removed file, and no other process would see what is in it."""
        assert self._file is not None
        try:
            is_there = os.path.samestat(os.stat(self._path), self._file)
        except FileNotFoundError:
            is_there = False
        if not is_there:
            raise Unavailable(
                f"The state in {self._state_dir} cannot be used: it was removed or replaced while this server ran. "
                "Start the server again."
            )

    def _close(self) -> None:
        assert self._connection is not None
        self._connection.close()
