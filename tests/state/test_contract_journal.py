"""The contract of the journal: entries in order without holes, read again and bounded."""

import pytest

from codex_mcp.state.contract import Fenced, Trimmed, WrongPosition
from tests.support.state.worlds import BOUNDS, MakeWorld, claimed, member, opened

KEPT = BOUNDS.journal_kept


async def test_entries_are_read_in_order_from_any_position(make_world: MakeWorld) -> None:
    async with opened(make_world) as world:
        one, two = await member(world), await member(world)
        claim = await claimed(one, "t")
        assert await one.journal.head("t", "events") == 0
        assert await one.journal.append(claim, "events", 0, [b"a", b"b"]) == 2
        assert await one.journal.append(claim, "events", 2, []) == 2
        assert await one.journal.append(claim, "events", 2, [b"", b"d\x00"]) == 4
        assert await two.journal.head("t", "events") == 4
        assert await two.journal.start("t", "events") == 0
        assert await two.journal.read("t", "events", 0, 10) == [b"a", b"b", b"", b"d\x00"]
        assert await two.journal.read("t", "events", 1, 2) == [b"b", b""]
        assert await two.journal.read("t", "events", 4, 10) == []
        assert await two.journal.read("t", "audit", 0, 10) == []


async def test_an_append_leaves_no_hole_and_overwrites_nothing(make_world: MakeWorld) -> None:
    async with opened(make_world) as world:
        store = await member(world)
        claim = await claimed(store, "t")
        await store.journal.append(claim, "events", 0, [b"a"])
        for wrong in (0, 2):
            with pytest.raises(WrongPosition) as at:
                await store.journal.append(claim, "events", wrong, [b"x"])
            assert at.value.actual == 1
        assert await store.journal.read("t", "events", 0, 10) == [b"a"]


async def test_a_new_owner_continues_where_the_dead_one_stopped(make_world: MakeWorld) -> None:
    async with opened(make_world) as world:
        one, two = await member(world), await member(world)
        old = await claimed(one, "t")
        await one.journal.append(old, "events", 0, [b"a"])
        await world.kill(one)
        new = await claimed(two, "t")
        await two.journal.append(new, "events", 1, [b"b"])
        with pytest.raises(Fenced):
            await two.journal.append(old, "events", 2, [b"late"])
        assert await two.journal.read("t", "events", 0, 10) == [b"a", b"b"]


async def test_the_oldest_entries_go_and_a_late_reader_is_told(make_world: MakeWorld) -> None:
    async with opened(make_world) as world:
        store = await member(world)
        claim = await claimed(store, "t")
        for number in range(KEPT + 3):
            await store.journal.append(claim, "events", number, [b"%d" % number])
        assert await store.journal.start("t", "events") == 3
        with pytest.raises(Trimmed) as trimmed:
            await store.journal.read("t", "events", 2, 10)
        assert trimmed.value.start == 3
        assert await store.journal.read("t", "events", 3, 100) == [b"%d" % n for n in range(3, KEPT + 3)]
        many = [b"x%d" % n for n in range(2 * KEPT)]
        assert await store.journal.append(claim, "events", KEPT + 3, many) == 3 * KEPT + 3
        assert await store.journal.read("t", "events", 2 * KEPT + 3, 100) == many[-KEPT:]


async def test_a_forgotten_thread_has_no_streams_and_others_keep_theirs(make_world: MakeWorld) -> None:
    async with opened(make_world) as world:
        store = await member(world)
        claim, other = await claimed(store, "t"), await claimed(store, "u")
        await store.journal.append(claim, "events", 0, [b"a"])
        await store.journal.append(claim, "audit", 0, [b"a"])
        await store.journal.append(other, "events", 0, [b"b"])
        await store.journal.forget(claim)
        assert await store.journal.head("t", "events") == await store.journal.head("t", "audit") == 0
        assert await store.journal.read("u", "events", 0, 10) == [b"b"]
