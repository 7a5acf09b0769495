"""What agents do stands still while servers of other machines may take them over: before the first of them can.

| | lease overdue | renewed, all agents are ours | renewed, some are not | all were taken over |
|---|---|---|---|---|
| runs | stands still | runs | runs | runs |
| stands still | stands still | goes on | is ended | is ended |

Whose the agents are is asked as often as it takes; whoever is late again meanwhile is asked anew.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from codex_mcp.base.tasks import TaskSet

logger = logging.getLogger(__name__)

RETRY: Final = 0.5
"""Seconds until the store is asked again that could not say whose the agents are."""


class Still(Protocol):
    """What stands still: Codex, and the commands that it runs."""

    def stand_still(self) -> None:
        """Servers of other machines may soon take over: nothing that agents do may go on."""

    async def go_on(self) -> None:
        """All agents are still ours: what stands still may go on."""

    async def end_still(self) -> None:
        """Other servers have taken over agents: nothing that stands still may ever go on."""


class Standstill:
    def __init__(self, still: Still, still_ours: Callable[[], Awaitable[bool | None]]) -> None:
        """`still_ours`: whether all agents are ours; None if that is not known yet."""
        self._still = still
        self._still_ours = still_ours
        self._over = asyncio.Event()
        self._over.set()
        self._times = 0
        """How often the lease was overdue."""
        self._tasks = TaskSet()
        self._asking: asyncio.Task[None] | None = None

    @property
    def holds(self) -> bool:
        return not self._over.is_set()

    def begin(self) -> None:
        self._times += 1
        if not self.holds:
            logger.warning("Codex and its commands stand still until the lease is renewed")
            self._over.clear()
            self._still.stand_still()

    def renewed(self) -> None:
        if self.holds and (self._asking is None or self._asking.done()):
            self._asking = self._tasks.spawn(self._ask(), name="whose agents stand still")

    async def taken_over(self) -> None:
        if self.holds:
            await self._end()

    async def over(self, patience: float) -> bool:
        """Wait until nothing stands still, at most so many seconds. Return whether that is so."""
        if self.holds:
            waiting = self._tasks.spawn(self._over.wait(), name="end of a standstill")
            await asyncio.wait([waiting], timeout=patience)
            waiting.cancel()
        return not self.holds

    async def aclose(self) -> None:
        await self._tasks.aclose()

    async def _ask(self) -> None:
        while self.holds:
            times = self._times
            ours = await self._still_ours()
            if self._times == times and ours is not None:
                await (self._go_on() if ours else self._end())
                return
            await asyncio.sleep(RETRY)

    async def _go_on(self) -> None:
        await self._still.go_on()
        logger.info("all agents are still ours: Codex and its commands go on")
        self._over.set()

    async def _end(self) -> None:
        await self._still.end_still()
        logger.warning("other servers have taken over agents: Codex and its commands were ended")
        self._over.set()
