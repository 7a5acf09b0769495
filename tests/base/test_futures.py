"""Futures that several events may resolve."""

import asyncio

from codex_mcp.base.futures import Waiter, Waiters, resolve


async def test_only_the_first_result_counts() -> None:
    future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    resolve(future, 1)
    resolve(future, 2)
    assert future.result() == 1


async def test_a_cancelled_or_missing_future_is_left_alone() -> None:
    future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    future.cancel()
    resolve(future, 1)
    resolve(None, 1)
    assert future.cancelled()


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
