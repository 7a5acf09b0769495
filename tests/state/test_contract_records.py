"""The contract of records: values, names that one living thread has, and requests that count once."""

import pytest

from codex_mcp.state.contract import Binding, Earlier, IdentityTaken, Name, NameOwned, TooManyNames
from tests.support.state.worlds import BOUNDS, MakeWorld, claimed, member, opened, silence


async def test_a_record_is_written_replaced_found_and_removed(make_world: MakeWorld) -> None:
    async with opened(make_world) as world:
        one, two = await member(world), await member(world)
        claim = await claimed(one, "t")
        await one.records.put(claim, "agent", "b", b"first")
        await one.records.put(claim, "agent", "b", b"\x00second\xff")
        await one.records.put(claim, "agent", "a", b"")
        await one.records.put(claim, "other", "c", b"x")
        assert await two.records.get("agent", "b") == b"\x00second\xff"
        assert await two.records.get("agent", "c") is None
        assert list((await two.records.find("agent")).items()) == [("a", b""), ("b", b"\x00second\xff")]
        assert await two.records.find("nothing") == {}
        await one.records.delete(claim, "agent", "b")
        await one.records.delete(claim, "agent", "b")
        assert await two.records.get("agent", "b") is None


async def test_records_outlive_the_node_that_wrote_them(make_world: MakeWorld) -> None:
    async with opened(make_world) as world:
        one, two = await member(world), await member(world)
        await one.records.put(await claimed(one, "t"), "agent", "t", b"x")
        await one.aclose()
        assert await two.records.find("agent") == {"t": b"x"}


async def test_two_living_threads_never_have_the_same_name(make_world: MakeWorld) -> None:
    async with opened(make_world) as world:
        one, two = await member(world), await member(world)
        mine, also_mine, others = await claimed(one, "a"), await claimed(one, "b"), await claimed(two, "c")
        await one.records.bind(mine, "team", "name")
        await one.records.bind(mine, "team", "name")
        for store, claim in ((one, also_mine), (two, others)):
            with pytest.raises(IdentityTaken) as taken:
                await store.records.bind(claim, "team", "name")
            assert taken.value.thread == "a"
        await two.records.bind(others, "other team", "name")
        assert await two.records.bindings("team") == [Binding("team", "name", "a", stands=True)]


async def test_a_name_is_free_when_its_thread_gives_it_up(make_world: MakeWorld) -> None:
    async with opened(make_world) as world:
        store = await member(world)
        first, second = await claimed(store, "a"), await claimed(store, "b")
        await store.records.bind(first, "team", "name")
        await store.records.unbind(second, "team", "name")
        assert [binding.thread for binding in await store.records.bindings("team")] == ["a"]
        await store.records.unbind(first, "team", "name")
        assert await store.records.bindings("team") == []
        await store.records.bind(second, "team", "name")


async def test_the_name_of_a_thread_that_nobody_claims_can_be_had(make_world: MakeWorld) -> None:
    async with opened(make_world) as world:
        store = await member(world)
        first, second = await claimed(store, "a"), await claimed(store, "b")
        await store.records.bind(first, "team", "name")
        await store.leases.release(first)
        assert await store.records.bindings("team") == [Binding("team", "name", "a", stands=False)]
        await store.records.bind(second, "team", "name")
        assert await store.records.bindings("team") == [Binding("team", "name", "b", stands=True)]
        back = await claimed(store, "a")
        with pytest.raises(IdentityTaken):
            await store.records.bind(back, "team", "name")


async def test_the_name_of_a_killed_nodes_thread_can_be_had_at_once(make_world: MakeWorld) -> None:
    async with opened(make_world) as world:
        one, two = await member(world), await member(world)
        await one.records.bind(await claimed(one, "a"), "team", "name")
        await world.kill(one)
        await two.records.bind(await claimed(two, "b"), "team", "name")
        assert await two.records.bindings("team") == [Binding("team", "name", "b", stands=True)]


async def test_the_name_of_a_silent_nodes_thread_can_be_had_after_a_ttl(make_world: MakeWorld) -> None:
    async with opened(make_world) as world:
        one, two = await member(world), await member(world)
        await one.records.bind(await claimed(one, "a"), "team", "name")
        mine = await claimed(two, "b")
        await silence(world, two, seconds=BOUNDS.ttl - 1)
        with pytest.raises(IdentityTaken):
            await two.records.bind(mine, "team", "name")
        await silence(world, two, seconds=1)
        await two.records.bind(mine, "team", "name")


async def test_a_thread_that_is_taken_over_keeps_its_name(make_world: MakeWorld) -> None:
    async with opened(make_world) as world:
        one, two = await member(world), await member(world)
        old = await claimed(one, "a")
        await one.records.bind(old, "team", "name")
        await world.kill(one)
        assert await two.records.bindings("team") == [Binding("team", "name", "a", stands=False)]
        (taken,) = await two.leases.take(old.node)
        assert await two.records.bindings("team") == [Binding("team", "name", "a", stands=True)]
        with pytest.raises(IdentityTaken):
            await two.records.bind(await claimed(two, "b"), "team", "name")
        await two.records.unbind(taken, "team", "name")


async def test_a_request_leads_to_one_thread_however_often_it_comes(make_world: MakeWorld) -> None:
    async with opened(make_world) as world:
        one, two = await member(world), await member(world)
        first, second = await claimed(one, "a"), await claimed(two, "b")
        assert await one.records.once(first, "p", "1") is None
        assert await one.records.once(first, "p", "1") == Earlier("a")
        assert await two.records.once(second, "p", "1") == Earlier("a")
        assert await two.records.once(second, "another", "1") is None


async def test_only_the_newest_requests_are_remembered(make_world: MakeWorld) -> None:
    async with opened(make_world) as world:
        store = await member(world)
        claim = await claimed(store, "a")
        for number in range(BOUNDS.requests_kept + 2):
            assert await store.records.once(claim, "p", str(number)) is None
        assert await store.records.once(claim, "p", "2") == Earlier("a")
        assert await store.records.once(claim, "p", "1") is None


async def test_a_name_belongs_to_the_principal_that_used_it_first(make_world: MakeWorld) -> None:
    async with opened(make_world) as world:
        one, two = await member(world), await member(world)
        assert await one.records.own("team", "arch", "p") == Name("arch", "p")
        assert await two.records.own("team", "arch", "p") == Name("arch", "p")
        with pytest.raises(NameOwned):
            await two.records.own("team", "arch", "q")
        assert await two.records.own("other team", "arch", "q") == Name("arch", "q")
        await two.records.disown("team", "arch", "q", 5.0)
        await one.aclose()
        assert await two.records.names("team") == [Name("arch", "p")]


async def test_a_released_name_keeps_the_mail_of_its_earlier_owner_from_the_next(make_world: MakeWorld) -> None:
    async with opened(make_world) as world:
        store = await member(world)
        await store.records.own("team", "arch", "p")
        await store.records.disown("team", "arch", "p", 5.0)
        await store.records.disown("team", "arch", "p", 6.0)
        assert await store.records.own("team", "arch", "p") == Name("arch", "p"), "its own mail is still there"
        await store.records.disown("team", "arch", "p", 7.0)
        assert await store.records.own("team", "arch", "q") == Name("arch", "q", since=7.0)
        with pytest.raises(NameOwned):
            await store.records.own("team", "arch", "p")


async def test_a_principal_cannot_take_every_name(make_world: MakeWorld) -> None:
    async with opened(make_world) as world:
        store = await member(world)
        for number in range(BOUNDS.names_kept):
            await store.records.own("team", f"n{number}", "p")
        with pytest.raises(TooManyNames):
            await store.records.own("team", "more", "p")
        await store.records.own("team", "n0", "p")
        await store.records.own("team", "more", "q")
