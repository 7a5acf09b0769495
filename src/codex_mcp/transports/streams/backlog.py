"""Holds the core back for readers that are far behind, before they miss messages.

After every few messages of the core, the writers to clients get a pass of the event loop. If a reader is behind by more
than half of what is kept for it and still reads, the core waits for it within a time budget: two seconds at once, and a
tenth of the time overall. A reader that takes nothing is not waited for.
"""

from __future__ import annotations

import asyncio
from typing import Final, Protocol

from codex_mcp.base.futures import resolve

LAG: Final = 1.0
"""Seconds without a read after which a reader lags. A busy machine delays a healthy client for less."""

MOST_HELD: Final = 2.0
HELD_SHARE: Final = 0.1


class BacklogReader(Protocol):
    @property
    def lags_at(self) -> float:
        """The time at which its reader lags, unless it takes something before."""


class HoldBudget:
    """The seconds that may be spent waiting. Waiting uses them up; otherwise they refill by `share` of the time."""

    def __init__(self, most: float, share: float) -> None:
        self._most = most
        self._share = share
        self._level = most
        self._at = 0.0

    def left(self, now: float) -> float:
        self._level = min(self._most, self._level + max(0.0, now - self._at) * self._share)
        self._at = now
        return self._level

    def spend(self, seconds: float, now: float) -> None:
        self._level = max(0.0, self._level - seconds)
        self._at = now


class Backlog:
    def __init__(self) -> None:
        self._behind: set[BacklogReader] = set()
        self._budget = HoldBudget(MOST_HELD, HELD_SHARE)
        self._waiter: asyncio.Future[None] | None = None

    def add(self, stream: BacklogReader) -> None:
        self._behind.add(stream)

    def caught_up(self, stream: BacklogReader) -> None:
        if stream in self._behind:
            self._behind.discard(stream)
            if self._waiter is not None:
                resolve(self._waiter, None)

    async def work_off(self) -> None:
        """Let the writers run, then wait for readers that are far behind while they read and the budget lasts."""
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
