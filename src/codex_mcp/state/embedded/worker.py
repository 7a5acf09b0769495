"""The one thread that uses a database: the event loop never waits for the disk."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from codex_mcp.base.blocking import OneThread
from codex_mcp.state.contract import Unavailable
from codex_mcp.state.embedded.opening import sqlite

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class Worker:
    """Runs jobs one after the other on its own thread. `explain` turns errors of SQLite and the OS into ours."""

    def __init__(self, explain: Callable[[Exception], Unavailable]) -> None:
        self._explain = explain
        self._thread = OneThread("codex-mcp-state")
        self._is_closing = False

    async def open(self, job: Callable[[], T]) -> T:
        """Run the first job. If it fails, there is nothing to close."""
        try:
            return await self.run(job)
        except BaseException:
            self._thread.end()
            raise

    def run(self, job: Callable[[], T]) -> asyncio.Future[T]:
        if self._is_closing:
            raise Unavailable("The state cannot be used: its store is closed, since the server is ending.")
        return self._thread.run(partial(self._explained, job))

    async def aclose(self, job: Callable[[], None]) -> None:
        """Finish the queued jobs, run a last one, and end the thread. Calling it again is fine."""
        if self._is_closing:
            return
        closing = self.run(job)
        self._is_closing = True
        try:
            await closing
        finally:
            self._thread.end()

    def _explained(self, job: Callable[[], T]) -> T:
        try:
            return job()
        except (sqlite().Error, OSError) as error:
            raise self._explain(error) from error
