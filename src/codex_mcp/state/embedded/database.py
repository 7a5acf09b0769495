"""The database and the one thread that uses it: the event loop never waits for the disk."""

from __future__ import annotations

import asyncio
import importlib
import os
from typing import TYPE_CHECKING, Final, TypeVar

from codex_mcp.state.contract import Unavailable
from codex_mcp.state.embedded import opening
from codex_mcp.state.embedded.opening import NAME, open_database, sqlite

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable
    from concurrent.futures import ThreadPoolExecutor

T = TypeVar("T")


LOCKED_TIMEOUT: Final = 0.05
"""Seconds for another process that has kept the database locked for longer than BUSY_TIMEOUT before."""


class Database:
    """Jobs, each in a transaction of its own, one after the other."""

    def __init__(self, state_dir: str) -> None:
        self._state_dir = state_dir
        self._path = os.path.join(state_dir, NAME)
        # Loaded here, as sqlite3 is: a server without a state pays for neither.
        pool: type[ThreadPoolExecutor] = importlib.import_module("concurrent.futures").ThreadPoolExecutor
        self._worker = pool(max_workers=1, thread_name_prefix="codex-mcp-state")
        self._connection: sqlite3.Connection | None = None
        self._file: os.stat_result | None = None
        self._lock_timeout = opening.BUSY_TIMEOUT
        self._is_closing = False

    async def open(self) -> None:
        """Open the file. Unavailable if that is not possible; then there is nothing to close."""
        try:
            await self._run(self._open)
        except BaseException:
            self._worker.shutdown(wait=False)
            raise

    async def read(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """What the job finds, all from one moment."""
        return await self._run(lambda: self._in_transaction("BEGIN", job))

    async def write(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """What the job returns, after what it wrote is kept. What it raises undoes all of it.

        A caller who is cancelled does not know whether it happened.
        """
        return await self._run(lambda: self._written(job))

    async def aclose(self) -> None:
        """Do what was asked before, then close. Again: fine."""
        if self._is_closing:
            return
        closing = self._run(self._close)
        self._is_closing = True
        try:
            await closing
        finally:
            self._worker.shutdown(wait=False)

    @property
    def is_closing(self) -> bool:
        """Whether nothing more is taken."""
        return self._is_closing

    def _run(self, job: Callable[[], T]) -> asyncio.Future[T]:
        if self._is_closing:
            raise Unavailable("The state cannot be used: its store is closed, since the server is ending.")
        return asyncio.get_running_loop().run_in_executor(self._worker, self._explained, job)

    # From here on everything runs in the worker.

    def _explained(self, job: Callable[[], T]) -> T:
        try:
            return job()
        except (sqlite().Error, OSError) as error:
            raise Unavailable(
                f"The state in {self._state_dir} cannot be used: {error}. Look at that folder, its disk and its rights."
            ) from error

    def _open(self) -> None:
        self._connection = open_database(self._state_dir)
        self._file = os.stat(self._path)

    def _written(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """One write. After one that waited in vain for another process, the next wait little until one succeeds."""
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

    def _in_transaction(self, begin: str, job: Callable[[sqlite3.Connection], T]) -> T:
        connection = self._connection
        assert connection is not None
        self._check_file()
        connection.execute(begin)
        try:
            result = job(connection)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return result

    def _check_file(self) -> None:
        """A database that was removed can be used for ever, and nobody else would see what is in it."""
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
