"""Futures that wait for the same event."""

import asyncio

from codex_mcp.base.futures import Waiter
from codex_mcp.threads.waiters import Waiters


async def test_every_waiter_is_told_once_unless_it_was_cancelled() -> None:
    waiters = Waiters()
    waiting: list[Waiter] = [asyncio.get_running_loop().create_future() for _ in range(3)]
    for waiter in waiting:
        waiters.add(waiter)
    waiting[1].cancel()
    waiters.tell()
    waiters.tell()
    assert [waiter.cancelled() for waiter in waiting] == [False, True, False]
    assert all(waiter.done() for waiter in waiting)


async def test_waiters_that_were_cancelled_are_not_kept() -> None:
    waiters = Waiters()
    for _ in range(100):
        waiter: Waiter = asyncio.get_running_loop().create_future()
        waiters.add(waiter)
        waiter.cancel()
    assert len(waiters._waiting) == 1
