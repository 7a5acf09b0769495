"""Readers that are far behind, and for which the core is held back a moment before they miss something.

After each few messages of the core, whoever writes to clients gets a turn of the event loop. If a reader is behind by
more than half of what is kept for it and still reads, the core waits for it, as long as the budget lasts: two seconds
at once, and a tenth of the time in all. A reader that takes nothing is not waited for.
"""

from __future__ import annotations

import asyncio
from typing import Final, Protocol

from codex_mcp.base.futures import resolve
from codex_mcp.mcp.http.streams.hold_budget import HoldBudget

LAG: Final = 1.0
"""Seconds after which a reader that has taken nothing lags: a busy machine stops a healthy client for less."""

MOST_HELD: Final = 2.0
HELD_SHARE: Final = 0.1


class Reading(Protocol):
    """A stream that somebody reads."""

    @property
    def lags_at(self) -> float:
        """The moment from which on its reader lags, unless it takes something until then."""


class Backlog:
    """The streams of one server whose readers are far behind."""

    def __init__(self) -> None:
        self._behind: set[Reading] = set()
        self._budget = HoldBudget(MOST_HELD, HELD_SHARE)
        self._waiter: asyncio.Future[None] | None = None

    def add(self, stream: Reading) -> None:
        """Its reader is far behind."""
        self._behind.add(stream)

    def caught_up(self, stream: Reading) -> None:
        """Its reader is no longer far behind."""
        if stream in self._behind:
            self._behind.discard(stream)
            if self._waiter is not None:
                resolve(self._waiter, None)

    async def worked_off(self) -> None:
        """Let the writers run; then wait for readers that are far behind, as long as they read and the budget lasts."""
        await asyncio.sleep(0)
        loop = asyncio.get_running_loop()
        while self._behind:
            now = loop.time()
            seconds = min(max(stream.lags_at for stream in self._behind) - now, self._budget.left(now))
            if seconds <= 0:
                self._behind.clear()
                return
            await self._wait(seconds)
            self._budget.spend(loop.time() - now, loop.time())

    async def _wait(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        self._waiter = loop.create_future()
        timer = loop.call_later(seconds, resolve, self._waiter, None)
        try:
            await self._waiter
        finally:
            timer.cancel()
            self._waiter = None
