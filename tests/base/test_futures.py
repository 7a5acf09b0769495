"""Futures that several events may resolve."""

import asyncio

import pytest

from codex_mcp.base.futures import Waiter, Waiters, in_time, resolve
from codex_mcp.base.tasks import TaskSet


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


async def test_a_result_that_has_come_when_the_time_is_up_counts() -> None:
    """Its waiter has not run yet when the time limit stops it."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[int] = loop.create_future()
    async with asyncio.timeout(None) as limit:

        def both() -> None:
            limit.reschedule(loop.time() - 1)
            resolve(future, 1)

        loop.call_soon(both)
        assert await in_time(future, limit) == 1
    assert limit.expired()


async def test_without_a_result_the_time_limit_counts_and_a_cancellation_always_does() -> None:
    loop = asyncio.get_running_loop()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0) as limit:
            await in_time(loop.create_future(), limit)
    future: asyncio.Future[int] = loop.create_future()

    async def waiting() -> int:
        async with asyncio.timeout(None) as limit:
            return await in_time(future, limit)

    tasks = TaskSet()
    task = tasks.spawn(waiting(), name="waiting")
    await asyncio.sleep(0)
    resolve(future, 1)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()


async def test_whoever_waits_goes_on_after_the_next_event() -> None:
    waiters = Waiters()
    tasks = TaskSet()
    waiting = [tasks.spawn(waiters.wait(), name="waiting") for _ in range(2)]
    waiters.tell()
    await asyncio.sleep(0)
    assert not any(task.done() for task in waiting), "they have not begun to wait"
    waiters.tell()
    await asyncio.gather(*waiting)
