"""Those who wait for the same thing."""

import asyncio

from codex_mcp.threads.waiters import Watcher, Watchers


async def test_everybody_is_told_once_and_who_has_gone_is_not() -> None:
    watchers = Watchers()
    waiting: list[Watcher] = [asyncio.get_running_loop().create_future() for _ in range(3)]
    for watcher in waiting:
        watchers.add(watcher)
    waiting[1].cancel()
    watchers.tell()
    watchers.tell()
    assert [watcher.cancelled() for watcher in waiting] == [False, True, False]
    assert all(watcher.done() for watcher in waiting)


async def test_those_who_wait_no_longer_are_not_kept() -> None:
    watchers = Watchers()
    for _ in range(100):
        watcher: Watcher = asyncio.get_running_loop().create_future()
        watchers.add(watcher)
        watcher.cancel()
    assert len(watchers._waiting) == 1
