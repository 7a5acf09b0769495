"""Shares the core between principals: a thread or a turn waits here until `fairness` lets it start.

A server without tokens has one principal, which never waits for others. A turn whose caller wants that also waits here
while the account takes no requests.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator
from typing import Any, Final

from codex_mcp.base.futures import Waiter, resolve
from codex_mcp.base.principals import LOCAL
from codex_mcp.base.tasks import TaskSet
from codex_mcp.codex.core import WhenLimited
from codex_mcp.codex.facts import TurnEnded
from codex_mcp.threads.limits.account import Account, Paying
from codex_mcp.threads.limits.fairness import FairQueue
from codex_mcp.threads.record import REFUSED_BY_ACCOUNT
from codex_mcp.threads.turn import Turn
from codex_mcp.threads.turn_queue import STOPPED

STARTS: Final = max(4, 2 * (os.cpu_count() or 1))
"""Threads and turns that may start at the same time. A start takes about 50 ms of CPU time, so twice the number of CPUs
keeps all of them busy."""

START_SECONDS: Final = 0.5
"""A turn that started this long ago waits for its model or for a command, and uses little CPU time."""

HELD_BACK: Final = "waiting, because the account has reached its usage limit"

WAITING: Final = "waiting, because the server is busy with other turns"


class Admission:
    """Accounts are those of `base.principals`: all sessions of a principal together."""

    def __init__(self, turns_each: int, account: Account, starts: int = STARTS) -> None:
        self._account = account
        self._queue: FairQueue[object] = FairQueue(starts, turns_each)
        self._waiting: dict[object, asyncio.Future[bool]] = {}
        self._tasks = TaskSet()

    def waiting(self, account: str) -> int:
        return self._queue.waiting(account)

    def subagent_ended(self, thread: Paying, ended: TurnEnded) -> None:
        """A sub-agent of this thread has ended its turn, perhaps because the account has refused its request."""
        if ended.code == REFUSED_BY_ACCOUNT:
            self._account.refused(thread)

    @contextlib.asynccontextmanager
    async def opening(self, account: str) -> AsyncIterator[None]:
        """Wait until this account may open a thread; leaving the block lets the next one start."""
        if account == LOCAL:
            yield
            return
        key = object()
        try:
            await self._ask(account, key, opens=True)
            yield
        finally:
            self._tell(self._queue.ended(key))

    async def enter(self, thread: Paying, turn: Turn, account: str) -> bool:
        """Wait until this turn may start; False if it was stopped first. Its place is freed when it ends."""
        if not await self._let_through(thread, turn):
            return False
        if account == LOCAL:
            return True
        if _is_stopped(turn):
            return False
        may_begin = False
        try:
            may_begin = await self._ask(account, turn, opens=False)
            # It may have been cancelled after it was let in, and before this runs.
            may_begin = may_begin and not _is_stopped(turn)
        finally:
            if not may_begin:
                self._tell(self._queue.ended(turn))
        if may_begin:
            self._tasks.spawn(self._follow(turn), name=f"place of a turn in {turn.thread_id}")
        return may_begin

    async def _let_through(self, thread: Paying, turn: Turn) -> bool:
        """Wait, if the caller of this turn wants that, until the account takes requests; False if it was stopped."""
        wants = turn.spec.when_limited is WhenLimited.WAIT
        while wants and self._account.admit(thread, turn, time.time()):
            if _is_stopped(turn):
                return False
            turn.record.set_activity(HELD_BACK)
            await self._until_account_changes(turn)
        return True

    async def _until_account_changes(self, turn: Turn) -> None:
        changed: Waiter = asyncio.get_running_loop().create_future()
        stopped: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting[turn] = stopped
        self._account.watch(changed)
        end = self._account.paused_until
        either: list[asyncio.Future[Any]] = [changed, stopped]
        patience = None if end is None else max(0.0, end - time.time())
        try:
            await asyncio.wait(either, timeout=patience or None, return_when=asyncio.FIRST_COMPLETED)
        finally:
            changed.cancel()
            del self._waiting[turn]

    def withdraw(self, turn: Turn) -> None:
        """This turn was cancelled: if it waits, `enter` returns False."""
        resolve(self._waiting.get(turn), result=False)

    async def _ask(self, account: str, key: object, *, opens: bool) -> bool:
        waiter: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting[key] = waiter
        try:
            self._tell(self._queue.ask(account, key, opens=opens))
            if isinstance(key, Turn) and not waiter.done():
                key.record.set_activity(WAITING)
            return await waiter
        finally:
            del self._waiting[key]

    async def _follow(self, turn: Turn) -> None:
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
                self._tell(self._queue.ended(key))  # it was withdrawn in the meantime

    async def aclose(self) -> None:
        await self._tasks.aclose()


def _is_stopped(turn: Turn) -> bool:
    return turn.place.state in STOPPED
