"""All that a store keeps, taken out as rows and put into another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from codex_mcp.state.contract import NotEmpty
from codex_mcp.state.rows import LastToken, RecordRow, RequestRow, Row
from tests.support.state.worlds import InMemory, claimed, member, opened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from codex_mcp.state.contract import Store
    from tests.support.state.worlds import StateWorld


async def rows_of(store: Store) -> list[Row]:
    """All rows."""
    rows: list[Row] = []
    await store.dump(rows.append)
    return rows


async def with_everything(world: StateWorld) -> Store:
    """A store that has something of each kind, and that no node uses any longer."""
    store = await member(world)
    for thread in ("b", "a", "ä", "Z"):
        claim = await claimed(store, thread)
        await store.records.put(claim, "agent", thread, thread.encode() + b"\x00\xff")
        await store.records.bind(claim, "team", f"name-{thread}")
        await store.records.once(claim, "p", f"request {thread}")
        await store.journal.append(claim, "events", [bytes([n]) for n in range(7)])
        await store.journal.append(claim, "none", [])
    await store.records.own("team", "kept", "p")
    await store.records.own("team", "released", "q")
    await store.records.disown("team", "released", "q", 5.5)
    await store.leases.leave()
    return store


async def test_a_store_that_was_filled_keeps_the_same(make_world: Callable[[], StateWorld]) -> None:
    async with opened(InMemory) as model, opened(make_world) as first, opened(make_world) as second:
        rows = await rows_of(await with_everything(model))
        assert await rows_of(await with_everything(first)) == rows
        store = await second.open()
        await store.fill(iter(rows))
        assert await rows_of(store) == rows
        await store.leases.join()
        claim = await claimed(store, "a")
        assert claim.token > max(row.last for row in rows if isinstance(row, LastToken))
        await store.journal.append(claim, "events", [b"more"])
        assert (await store.journal.read("a", "events"))[-2:] == [b"\x06", b"more"]
        for n in range(3):
            await store.records.once(claim, "p", f"new {n}")
        newest = [row.id for row in await rows_of(store) if isinstance(row, RequestRow)]
        assert newest == ["new 0", "new 1", "new 2"]


async def test_what_is_not_empty_or_in_use_is_not_filled(make_world: Callable[[], StateWorld]) -> None:
    async with opened(make_world) as world:
        store, other = await member(world), await world.open()
        with pytest.raises(NotEmpty):
            await other.fill(iter([]))
        await store.records.own("team", "x", "p")
        await store.leases.leave()
        with pytest.raises(NotEmpty):
            await other.fill(iter([RecordRow("k", "x", b"")]))
        assert await store.records.find("k") == {}


async def test_rows_that_fail_in_the_middle_leave_nothing(make_world: Callable[[], StateWorld]) -> None:
    def broken() -> Iterator[Row]:
        yield LastToken(7)
        yield RecordRow("k", "x", b"")
        raise RuntimeError("broken")

    async with opened(make_world) as world:
        store = await world.open()
        with pytest.raises(RuntimeError, match="broken"):
            await store.fill(broken())
        assert [row for row in await rows_of(store) if not isinstance(row, LastToken)] == []
