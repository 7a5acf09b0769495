"""The database of a state folder: every job is a transaction."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, TypeVar

from codex_mcp.state.contract import Unavailable
from codex_mcp.state.embedded import opening
from codex_mcp.state.embedded.opening import NAME, open_database, sqlite
from codex_mcp.state.embedded.small_database import SmallDatabase
from codex_mcp.state.embedded.transaction import in_transaction

if TYPE_CHECKING:
    import asyncio
    import sqlite3
    from collections.abc import Callable

T = TypeVar("T")

LOCKED_TIMEOUT: Final = 0.05
"""Seconds to wait for a lock after another process has already held it for longer than BUSY_TIMEOUT."""


class Database(SmallDatabase):
    def __init__(self, state_dir: str) -> None:
        super().__init__(
            os.path.join(state_dir, NAME),
            lambda error: (
                f"The state in {state_dir} cannot be used: {error}. Check that folder, its disk and its permissions."
            ),
        )
        self._state_dir = state_dir
        self._file: os.stat_result | None = None
        self._lock_timeout = opening.BUSY_TIMEOUT
        self._failed = 0

    def read(self, job: Callable[[sqlite3.Connection], T]) -> asyncio.Future[T]:
        """What the job returns. It sees one consistent state of the database."""
        return self._queued(lambda: self._in_transaction("BEGIN", job))

    def write(self, job: Callable[[sqlite3.Connection], T]) -> asyncio.Future[T]:
        return self._queued(lambda: self._written(job))

    def version(self, db: sqlite3.Connection) -> tuple[int, int]:
        """Changes when another process has written something, or a write of ours has failed."""
        return (db.execute("PRAGMA data_version").fetchone()[0], self._failed)

    # From here on everything runs in the thread.

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
            self._opened().execute(f"PRAGMA busy_timeout = {round(seconds * 1000)}")
            self._lock_timeout = seconds

    def _in_transaction(self, begin: str, job: Callable[[sqlite3.Connection], T]) -> T:
        connection = self._opened()
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
