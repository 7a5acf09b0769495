"""The one thread that uses a database: the event loop never waits for the disk."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from codex_mcp.state.contract import Unavailable
from codex_mcp.state.embedded.opening import sqlite

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class Worker:
    """Runs jobs one after the other on its own thread. `explain` turns errors of SQLite and the OS into ours."""

    def __init__(self, explain: Callable[[Exception], Unavailable]) -> None:
        # Only a server that opens a database pays for this import.
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

        self._explain = explain
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="codex-mcp-state")
        self._is_closing = False

    async def open(self, job: Callable[[], T]) -> T:
        """Run the first job. If it fails, there is nothing to close."""
        try:
            return await self.run(job)
        except BaseException:
            self._pool.shutdown(wait=False)
            raise

    def run(self, job: Callable[[], T]) -> asyncio.Future[T]:
        if self._is_closing:
            raise Unavailable("The state cannot be used: its store is closed, since the server is ending.")
        return asyncio.get_running_loop().run_in_executor(self._pool, self._explained, job)

    async def aclose(self, job: Callable[[], None]) -> None:
        """Finish the queued jobs, run a last one, and end the thread. Calling it again is fine."""
        if self._is_closing:
            return
        closing = self.run(job)
        self._is_closing = True
        try:
            await closing
        finally:
            self._pool.shutdown(wait=False)

    def _explained(self, job: Callable[[], T]) -> T:
        try:
            return job()
        except (sqlite().Error, OSError) as error:
            raise self._explain(error) from error
