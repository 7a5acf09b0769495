"""Lets principals take turns at the core: whoever asks for a thread or a turn waits here until `fairness` says so.

A server without tokens has one principal, which never waits here.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from typing import Final

from codex_mcp.base.tasks import TaskSet
from codex_mcp.threads.limits.fairness import FairQueue
from codex_mcp.threads.owners import LOCAL
from codex_mcp.threads.turn import Turn
from codex_mcp.threads.turn_queue import TurnQueueState

STARTS: Final = max(4, 2 * (os.cpu_count() or 1))
"""Threads and turns that the core begins at once. To begin a turn takes it about 50 ms of a processor's time, so that
twice as many as there are processors keep all of them busy."""

START_SECONDS: Final = 0.5
"""A turn that began this long ago waits for its model or for a command, and takes no place at the processors."""

WAITING: Final = "waiting, because the server is busy with other turns"


class Admission:
    """The way of every principal's work to the core."""

    def __init__(self, turns_each: int, starts: int = STARTS) -> None:
        self._queue: FairQueue[object] = FairQueue(starts, turns_each)
        self._waiting: dict[object, asyncio.Future[bool]] = {}
        self._tasks = TaskSet()

    def waiting(self, principal: str) -> int:
        """How many threads and turns of this principal wait."""
        return self._queue.waiting(principal)

    @contextlib.asynccontextmanager
    async def opening(self, principal: str) -> AsyncIterator[None]:
        """Wait until this principal may have a thread opened; leaving lets the next one begin."""
        if principal == LOCAL:
            yield
            return
        key = object()
        try:
            await self._asked(principal, key, opens=True)
            yield
        finally:
            self._tell(self._queue.ended(key))

    async def enter(self, turn: Turn, principal: str) -> bool:
        """Wait until this turn may begin; False if it was stopped before. It leaves by itself when it is over."""
        if principal == LOCAL:
            return True
        if turn.place.state is TurnQueueState.STOPPING:
            return False
        may_begin = False
        try:
            may_begin = await self._asked(principal, turn, opens=False)
        finally:
            turn.waits_for = None
            if not may_begin:
                self._tell(self._queue.ended(turn))
        if may_begin:
            self._tasks.spawn(self._followed(turn), name=f"place of a turn in {turn.thread_id}")
        return may_begin

    async def _asked(self, principal: str, key: object, *, opens: bool) -> bool:
        waiter: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting[key] = waiter
        if isinstance(key, Turn):
            key.waits_for = waiter
        try:
            self._tell(self._queue.ask(principal, key, opens=opens))
            if isinstance(key, Turn) and not waiter.done():
                key.record.activity = WAITING
            return await waiter
        finally:
            del self._waiting[key]

    async def _followed(self, turn: Turn) -> None:
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(START_SECONDS):
                    await turn.left.wait()
            self._tell(self._queue.started(turn))
            await turn.left.wait()
        finally:
            self._tell(self._queue.ended(turn))

    def _tell(self, keys: list[object]) -> None:
        for key in keys:
            waiter = self._waiting.get(key)
            if waiter is not None and not waiter.done():
                waiter.set_result(True)
            else:
                self._tell(self._queue.ended(key))  # whoever asked for it has gone in the meantime

    async def aclose(self) -> None:
        """Follow nothing any longer."""
        await self._tasks.aclose()
