"""The contract of the journal: entries in order, read again and bounded."""

import pytest

from codex_mcp.state.contract import Fenced, Record
from tests.support.state.worlds import BOUNDS, MakeWorld, claimed, member, opened

KEPT = BOUNDS.journal_kept


async def test_entries_are_read_in_order(make_world: MakeWorld) -> None:
    async with opened(make_world) as world:
        one, two = await member(world), await member(world)
        claim = await claimed(one, "t")
        assert await one.journal.read("t", "events") == []
        await one.journal.append(claim, "events", [b"a", b"b"])
        await one.journal.append(claim, "events", [])
        await one.journal.append(claim, "events", [b"", b"d\x00"])
        assert await two.journal.read("t", "events") == [b"a", b"b", b"", b"d\x00"]
        assert await two.journal.read("t", "audit") == []


async def test_a_record_is_put_together_with_the_entries_or_neither_of_them(make_world: MakeWorld) -> None:
    async with opened(make_world) as world:
        one, two = await member(world), await member(world)
        claim = await claimed(one, "t")
        assert await two.records.find("agent") == {}
        await one.journal.append(claim, "events", [b"a"], Record("agent", "t", b"1"))
        await one.journal.append(claim, "events", [b"b"], Record("agent", "t", b"2"))
        assert await two.records.find("agent") == {"t": b"2"}
        assert await one.records.find("agent") == {"t": b"2"}
        assert await two.journal.read("t", "events") == [b"a", b"b"]
        await claimed(one, "t")
        with pytest.raises(Fenced):
            await one.journal.append(claim, "events", [b"late"], Record("agent", "t", b"late"))
        assert await two.records.get("agent", "t") == b"2"
        assert await two.journal.read("t", "events") == [b"a", b"b"]


async def test_a_new_owner_continues_where_the_dead_one_stopped(make_world: MakeWorld) -> None:
    async with opened(make_world) as world:
        one, two = await member(world), await member(world)
        old = await claimed(one, "t")
        await one.journal.append(old, "events", [b"a"])
        await world.kill(one)
        new = await claimed(two, "t")
        await two.journal.append(new, "events", [b"b"])
        with pytest.raises(Fenced):
            await two.journal.append(old, "events", [b"late"])
        assert await two.journal.read("t", "events") == [b"a", b"b"]


async def test_the_oldest_entries_go(make_world: MakeWorld) -> None:
    async with opened(make_world) as world:
        store = await member(world)
        claim = await claimed(store, "t")
        for number in range(KEPT + 3):
            await store.journal.append(claim, "events", [b"%d" % number])
        assert await store.journal.read("t", "events") == [b"%d" % n for n in range(3, KEPT + 3)]
        many = [b"x%d" % n for n in range(2 * KEPT)]
        await store.journal.append(claim, "events", many)
        assert await store.journal.read("t", "events") == many[-KEPT:]
        await store.journal.append(claim, "new", many)
        assert await store.journal.read("t", "new") == many[-KEPT:]


async def test_a_forgotten_thread_has_no_streams_and_others_keep_theirs(make_world: MakeWorld) -> None:
    async with opened(make_world) as world:
        store = await member(world)
        claim, other = await claimed(store, "t"), await claimed(store, "u")
        await store.journal.append(claim, "events", [b"a"])
        await store.journal.append(claim, "audit", [b"a"])
        await store.journal.append(other, "events", [b"b"])
        await store.journal.forget(claim)
        assert await store.journal.read("t", "events") == await store.journal.read("t", "audit") == []
        assert await store.journal.read("u", "events") == [b"b"]
