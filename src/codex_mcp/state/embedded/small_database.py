"""A database file that several processes share, opened, read and written on a thread of its own: the event loop never
waits for the disk."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

from codex_mcp.base.blocking import settle
from codex_mcp.state.contract import Unavailable
from codex_mcp.state.embedded.opening import open_small_database, sqlite
from codex_mcp.state.embedded.transaction import in_transaction

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

T = TypeVar("T")


class SmallDatabase:
    """Runs jobs one after the other. Each job gets the connection."""

    def __init__(self, path: str, explain: Callable[[Exception], str], *statements: str) -> None:
        """`explain` says what an error is about and what to do. `statements` make the tables."""
        self._path = path
        self._explain = explain
        self._statements = statements
        self._jobs: SimpleQueue[tuple[Callable[[], Any], asyncio.Future[Any]] | None] = SimpleQueue()
        self._has_begun = False
        self._is_closing = False
        self._connection: sqlite3.Connection | None = None

    async def open(self) -> None:
        """Open the file before anything else. Raises Unavailable; then there is nothing to close."""
        try:
            await self._queued(self._open)
        except BaseException:
            self._jobs.put(None)
            raise

    def run(self, job: Callable[[sqlite3.Connection], T]) -> asyncio.Future[T]:
        """Queue a job at once. Each of its statements is a transaction."""
        return self._queued(lambda: self._done(job))

    def write(self, job: Callable[[sqlite3.Connection], T]) -> asyncio.Future[T]:
        """Queue a job whose writes are stored together when it returns. If it raises, nothing is written.

        A caller that is cancelled does not know whether the write happened.
        """
        return self._queued(lambda: self._done(lambda connection: in_transaction(connection, job)))

    async def aclose(self) -> None:
        """Finish the queued jobs, and close. Calling it again is fine."""
        if self._is_closing:
            return
        closing = self._queued(self._close)
        self._is_closing = True
        try:
            await closing
        finally:
            self._jobs.put(None)

    def _queued(self, job: Callable[[], T]) -> asyncio.Future[T]:
        if self._is_closing:
            raise Unavailable("The state cannot be used: its store is closed, since the server is ending.")
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._jobs.put((job, future))
        if not self._has_begun:
            self._has_begun = True
            threading.Thread(target=self._work, name="codex-mcp-state", daemon=True).start()
        return future

    # From here on everything runs in the thread.

    def _work(self) -> None:
        while (queued := self._jobs.get()) is not None:
            job, future = queued
            if not future.cancelled():
                result, error = self._outcome(job)
                with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any longer
                    future.get_loop().call_soon_threadsafe(settle, future, result, error)
                del result, error
            del queued, job, future  # an idle thread must not keep the last result alive

    def _outcome(self, job: Callable[[], T]) -> tuple[T | None, BaseException | None]:
        try:
            return self._explained(job), None
        except BaseException as error:  # noqa: BLE001  the caller gets it
            return None, error

    def _explained(self, job: Callable[[], T]) -> T:
        try:
            return job()
        except (sqlite().Error, OSError) as error:
            raise Unavailable(self._explain(error)) from error

    def _done(self, job: Callable[[sqlite3.Connection], T]) -> T:
        return job(self._opened())

    def _open(self) -> None:
        self._connection = open_small_database(self._path, *self._statements)

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _opened(self) -> sqlite3.Connection:
        assert self._connection is not None, "it is used before it is opened"
        return self._connection
