"""Notices within a second that the database has gone silent, and releases everybody who waits for it.

A statement may wait for a slow disk, which is no silence: who waits for long asks on the connection of the lease, where
nothing waits for the disk.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final

from codex_mcp.base.tasks import TaskSet

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    import asyncpg

LONG: Final = 0.4
"""Seconds after which somebody who waits has the database asked whether it is there."""


class Waiting:
    """Somebody who waits for a statement."""

    def __init__(self, since: float, limit: asyncio.Timeout) -> None:
        self.since = since
        self._limit = limit
        self._connection: asyncpg.Connection | None = None

    def has(self, connection: asyncpg.Connection) -> None:
        self._connection = connection

    def release(self, now: float) -> None:
        if self._connection is not None:
            self._connection.terminate()  # else whoever returns it would wait until its statement is cancelled
        self._limit.reschedule(now)


class Silence:
    """`answers` asks the database, and takes at most as long as `LONG`."""

    def __init__(self, answers: Callable[[], Awaitable[bool]]) -> None:
        self._answers = answers
        self._waiting: set[Waiting] = set()
        self._asking: asyncio.Task[None] | None = None
        self._tasks = TaskSet()

    @contextlib.asynccontextmanager
    async def ended(self) -> AsyncIterator[Waiting]:
        """Whoever waits inside gets TimeoutError when the database has gone silent."""
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(None) as limit:
            waiting = Waiting(loop.time(), limit)
            self._waiting.add(waiting)
            alarm = loop.call_later(LONG, self._ask_soon)
            try:
                yield waiting
            finally:
                alarm.cancel()
                self._waiting.discard(waiting)

    def release(self) -> None:
        """It has gone silent."""
        now = asyncio.get_running_loop().time()
        for waiting in self._waiting:
            waiting.release(now)
        self._waiting.clear()

    async def aclose(self) -> None:
        await self._tasks.aclose()

    def _ask_soon(self) -> None:
        if self._asking is None or self._asking.done():
            self._asking = self._tasks.spawn(self._ask(), name="whether the database answers")

    async def _ask(self) -> None:
        loop = asyncio.get_running_loop()
        while any(loop.time() - waiting.since >= LONG for waiting in self._waiting):
            if not await self._answers():
                self.release()
                return
            await asyncio.sleep(LONG)
