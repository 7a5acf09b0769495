"""What the database holds of the journal: no more than is kept, and whose entry each is."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from codex_mcp.base.tasks import TaskSet
from codex_mcp.state.contract import Bounds
from codex_mcp.state.embedded import journal
from codex_mcp.state.embedded.store import open_store
from tests.support.state.node_processes import NodeProcess
from tests.support.state.worlds import claimed


async def test_the_table_does_not_grow_and_tokens_never_fall(tmp_path: Path) -> None:
    store = await open_store(str(tmp_path), Bounds(journal_kept=20))
    await store.leases.join()
    for number in range(50):
        claim = await claimed(store, "t")
        await store.journal.append(claim, "s", number, [b"x"])
    await store.aclose()
    with closing(sqlite3.connect(tmp_path / "state.db")) as database:
        rows = database.execute("SELECT at, token FROM journal ORDER BY at").fetchall()
    assert [at for at, _ in rows] == list(range(30, 50))
    assert [token for _, token in rows] == sorted({token for _, token in rows})


async def test_followers_hear_of_what_another_process_appends(tmp_path: Path) -> None:
    async with NodeProcess(tmp_path) as writer:
        store = await open_store(str(tmp_path))
        await writer.does("join")
        await writer.does("claim", "t")
        tasks, seen = TaskSet(), [asyncio.Queue[bytes](), asyncio.Queue[bytes]()]

        async def follow(into: asyncio.Queue[bytes]) -> None:
            async for entry in store.journal.follow("t", "s", 0):
                into.put_nowait(entry)

        for number, queue in enumerate(seen):
            tasks.spawn(follow(queue), name=f"follower {number}")
        for entry in ("a", "b", "c"):
            await writer.does("append", "t", [entry])
            for queue in seen:
                assert await queue.get() == entry.encode()
        await tasks.aclose()
        await store.aclose()


async def test_followers_hear_of_our_own_appends_without_looking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "LOOK_EVERY", 3600.0)
    store = await open_store(str(tmp_path))
    await store.leases.join()
    claim = await claimed(store, "t")
    entries = aiter(store.journal.follow("t", "s", 0))
    for number in range(3):
        waiting = TaskSet()
        coming = waiting.spawn(anext_of(entries), name="follower")
        await store.journal.head("t", "s")  # behind the follower's own read, so it waits now
        await store.journal.append(claim, "s", number, [b"%d" % number])
        assert await coming == b"%d" % number
        await waiting.aclose()
    await store.aclose()


async def anext_of(entries: AsyncIterator[bytes]) -> bytes:
    return await anext(entries)
