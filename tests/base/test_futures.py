"""Futures that several events may resolve."""

import asyncio

from codex_mcp.base.futures import resolve


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
