"""The store as a whole: it survives a kill at any step inside SQLite, and closes in every state."""

import asyncio
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from codex_mcp.base.tasks import TaskSet
from codex_mcp.state.contract import Claim, Store
from codex_mcp.state.embedded.flock import nodes_with_locks
from codex_mcp.state.embedded.store import EmbeddedStore, open_store
from tests.support.state.node_processes import Died, NodeProcess
from tests.support.state.worlds import claimed

STEPS = [1, 40, 150, 400, 700, 1000, 1200, 1350, 1500, 1700, 1900, 2100, 2400, 2800, 3300]
"""From the making of the tables to the appends. What the child does below takes some 7,000 steps."""


async def work(node: NodeProcess, done: dict[str, int]) -> None:
    """Claim, name, write: what was answered is counted."""
    await node.does("join")
    for n in range(20):
        await node.does("claim", "t")
        done["claims"] = n + 1
        await node.does("bind", "t", f"name-{n}")
        done["names"] = n + 1
        await node.does("append", "t", ["x", "y", "z"])
        done["appends"] = n + 1
        await node.does("put", "t", f"{n}")
        done["puts"] = n + 1


@pytest.mark.parametrize("step", STEPS)
async def test_a_kill_inside_sqlite_leaves_no_half_written_state(tmp_path: Path, step: int) -> None:
    done = {"claims": 0, "names": 0, "appends": 0, "puts": 0}
    async with NodeProcess(tmp_path, dies_at=step) as node:
        with pytest.raises(Died):
            await work(node, done)
    store = await open_store(str(tmp_path))
    assert [name for name in os.listdir(tmp_path) if "broken" in name] == []
    entries = await store.journal.read("t", "s")
    assert entries in ([b"x", b"y", b"z"] * count for count in (done["appends"], done["appends"] + 1))
    assert len(await store.records.bindings("team")) in (done["names"], done["names"] + 1)
    puts = int(await store.records.get("k", "t") or b"-1") + 1
    assert puts in (done["puts"], done["puts"] + 1)
    await store.leases.join()
    assert (await claimed(store, "t")).token > done["claims"]
    await store.aclose()
    with closing(sqlite3.connect(tmp_path / "state.db")) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


async def test_it_is_a_store(tmp_path: Path) -> None:
    store: Store = await open_store(str(tmp_path))
    assert isinstance(store, EmbeddedStore)
    await store.aclose()
    await store.aclose()
    assert sorted(os.listdir(tmp_path)) == ["opening.lock", "state.db"]


async def test_what_is_written_is_there_for_the_next_server(tmp_path: Path) -> None:
    first = await open_store(str(tmp_path))
    await first.leases.join()
    old = await claimed(first, "t")
    await first.records.put(old, "agent", "t", b"x")
    await first.aclose()
    second = await open_store(str(tmp_path))
    await second.leases.join()
    assert await second.records.find("agent") == {"t": b"x"}
    assert (await claimed(second, "t")).token > old.token
    assert len(nodes_with_locks(str(tmp_path))) == 1
    await second.aclose()
    assert nodes_with_locks(str(tmp_path)) == []


@pytest.mark.parametrize("turns", [0, 1, 2, 10, 100, 1000])
async def test_a_join_that_is_cancelled_at_any_moment_leaves_nothing(tmp_path: Path, turns: int) -> None:
    store = await open_store(str(tmp_path))
    tasks = TaskSet()
    tasks.spawn(store.leases.join(), name="join")
    for _ in range(turns):
        await asyncio.sleep(0)
    await tasks.aclose()
    await store.aclose()
    assert nodes_with_locks(str(tmp_path)) == []
    reader = await open_store(str(tmp_path))
    assert await reader.leases.nodes() == []
    await reader.aclose()


async def test_an_abandoned_store_is_found_dead(tmp_path: Path) -> None:
    one, two = await open_store(str(tmp_path)), await open_store(str(tmp_path))
    node = await one.leases.join()
    await two.leases.join()
    await one.leases.claim("t")
    await one.abandon()
    taken = await two.leases.take(node.id)
    assert [type(claim) for claim in taken] == [Claim]
    await two.aclose()
