"""The contract of leases: who is alive, who owns what, and that no stale claim writes. Every store must pass."""

import pytest

from codex_mcp.state.contract import Claim, Fenced, LeaseLost, OwnedBy, Renewed, TakenOver, Unavailable, storable
from tests.support.state.worlds import BOUNDS, MakeWorld, claimed, member, opened, silence


async def test_a_node_that_joins_is_seen_by_the_others(make_world: MakeWorld) -> None:
    async with opened(make_world) as world:
        one, two = await member(world, "here"), await member(world)
        assert [node.address for node in await two.leases.nodes() if node.address] == ["here"]
        assert len(await one.leases.nodes()) == 2
        assert all(node.alive for node in await one.leases.nodes())


async def test_one_thread_has_one_owner(make_world: MakeWorld) -> None:
    async with opened(make_world) as world:
        one, two = await member(world, "one"), await member(world, "two")
        claim = await claimed(one, "t")
        refused = await two.leases.claim("t")
        assert isinstance(refused, OwnedBy)
        assert (refused.node.address, refused.node.id, refused.token) == ("one", claim.node, claim.token)
        owner = await two.leases.owner("t")
        assert owner is not None
        assert owner.id == claim.node
        assert await two.leases.owner("other") is None


async def test_a_released_thread_is_free_and_its_claim_is_worth_nothing(make_world: MakeWorld) -> None:
    async with opened(make_world) as world:
        one, two = await member(world), await member(world)
        first = await claimed(one, "t")
        await one.leases.release(first)
        assert await one.leases.owner("t") is None
        second = await claimed(two, "t")
        assert second.token > first.token
        for write in (one.leases.release(first), one.records.put(first, "k", "t", b"")):
            with pytest.raises(Fenced) as fenced:
                await write
            assert fenced.value.claim == first


async def test_claiming_ones_own_thread_again_fences_the_earlier_claim(make_world: MakeWorld) -> None:
    async with opened(make_world) as world:
        store = await member(world)
        first = await claimed(store, "t")
        second = await claimed(store, "t")
        assert second.token > first.token
        await store.records.put(second, "k", "t", b"new")
        with pytest.raises(Fenced):
            await store.records.put(first, "k", "t", b"old")
        assert await store.records.get("k", "t") == b"new"


async def test_a_token_grows_also_when_a_thread_was_free_in_between(make_world: MakeWorld) -> None:
    async with opened(make_world) as world:
        store = await member(world)
        tokens = []
        for _ in range(5):
            claim = await claimed(store, "t")
            tokens.append(claim.token)
            await store.leases.release(claim)
        assert tokens == sorted(set(tokens))


async def test_no_write_is_taken_from_a_stale_claim(make_world: MakeWorld) -> None:
    async with opened(make_world) as world:
        one, two = await member(world), await member(world)
        stale = await claimed(one, "t")
        await one.records.put(stale, "k", "t", b"before")
        await one.records.bind(stale, "team", "name")
        await one.journal.append(stale, "events", [b"before"])
        await world.kill(one)
        await claimed(two, "t")
        writes = [
            two.leases.release(stale),
            two.records.put(stale, "k", "t", b"after"),
            two.records.delete(stale, "k", "t"),
            two.records.bind(stale, "team", "other"),
            two.records.unbind(stale, "team", "name"),
            two.records.once(stale, "p", "1"),
            two.journal.append(stale, "events", [b"after"]),
            two.journal.append(stale, "events", []),
            two.journal.forget(stale),
        ]
        for write in writes:
            with pytest.raises(Fenced):
                await write
        assert await two.records.get("k", "t") == b"before"
        assert [binding.identity for binding in await two.records.bindings("team")] == ["name"]
        assert await two.journal.read("t", "events") == [b"before"]


async def test_a_claim_of_somebody_who_never_was_writes_nothing(make_world: MakeWorld) -> None:
    async with opened(make_world) as world:
        store = await member(world)
        real = await claimed(store, "t")
        for forged in (Claim("t", "nobody", real.token), Claim("t", real.node, real.token + 1), Claim("u", "n", 1)):
            with pytest.raises(Fenced):
                await store.records.put(forged, "k", "t", b"")


async def test_a_node_that_leaves_frees_its_threads_at_once(make_world: MakeWorld) -> None:
    async with opened(make_world) as world:
        one, two = await member(world), await member(world)
        claim = await claimed(one, "t")
        await one.leases.leave()
        await one.leases.leave()
        assert await two.leases.owner("t") is None
        assert len(await two.leases.nodes()) == 1
        await claimed(two, "t")
        with pytest.raises(Fenced):
            await one.records.put(claim, "k", "t", b"")


async def test_a_closed_store_has_left_and_says_that_it_is_closed(make_world: MakeWorld) -> None:
    async with opened(make_world) as world:
        one, two = await member(world), await member(world)
        await claimed(one, "t")
        await one.aclose()
        await one.aclose()
        with pytest.raises(Unavailable, match="closed"):
            await one.leases.nodes()
        await claimed(two, "t")


async def test_who_did_not_join_can_read_but_claim_nothing(make_world: MakeWorld) -> None:
    async with opened(make_world) as world:
        one, reader = await member(world), await world.open()
        await claimed(one, "t")
        owner = await reader.leases.owner("t")
        assert owner is not None
        assert owner.alive
        for attempt in (reader.leases.claim("u"), reader.leases.take(owner.id), reader.leases.renew()):
            with pytest.raises(LeaseLost):
                await attempt


async def test_joining_again_makes_a_new_node_that_owns_nothing(make_world: MakeWorld) -> None:
    async with opened(make_world) as world:
        store = await member(world)
        claim = await claimed(store, "t")
        again = await store.leases.join()
        assert again.id != claim.node
        assert [node.id for node in await store.leases.nodes()] == [again.id]
        with pytest.raises(Fenced):
            await store.records.put(claim, "k", "t", b"")


async def test_a_killed_node_is_dead_at_once_also_for_one_who_just_joined(make_world: MakeWorld) -> None:
    async with opened(make_world) as world:
        one, two = await member(world), await member(world)
        old = await claimed(one, "t")
        await world.kill(one)
        assert [node.alive for node in await two.leases.nodes() if node.id == old.node] == [False]
        assert (await claimed(two, "t")).token > old.token


async def test_all_threads_of_a_dead_node_are_taken_in_one_go(make_world: MakeWorld) -> None:
    async with opened(make_world) as world:
        one, two = await member(world), await member(world)
        old = {thread: await claimed(one, thread) for thread in ("c", "a", "b")}
        await claimed(two, "mine")
        await world.kill(one)
        taken = await two.leases.take(old["a"].node)
        assert [claim.thread for claim in taken] == ["a", "b", "c"]
        assert all(claim.token > old[claim.thread].token for claim in taken)
        assert old["a"].node not in [node.id for node in await two.leases.nodes()]
        for claim in taken:
            await two.records.put(claim, "k", claim.thread, b"")
        assert await two.leases.take(old["a"].node) == []


async def test_nothing_is_taken_of_a_living_node_nor_of_oneself(make_world: MakeWorld) -> None:
    async with opened(make_world) as world:
        one, two = await member(world), await member(world)
        claim = await claimed(one, "t")
        assert await two.leases.take(claim.node) == []
        assert await one.leases.take(claim.node) == []
        assert await two.leases.take("unknown") == []
        await one.records.put(claim, "k", "t", b"")


async def test_a_silent_node_is_taken_after_its_ttl_and_told_so_when_it_comes_back(make_world: MakeWorld) -> None:
    async with opened(make_world) as world:
        one, two = await member(world), await member(world)
        old = await claimed(one, "t")
        await silence(world, two, seconds=BOUNDS.ttl - 1)
        assert isinstance(await two.leases.claim("t"), OwnedBy)
        await silence(world, two, seconds=1)
        taken = await two.leases.take(old.node)
        assert [claim.thread for claim in taken] == ["t"]
        assert await one.leases.renew() == TakenOver()
        with pytest.raises(LeaseLost):
            await one.leases.claim("u")
        with pytest.raises(Fenced):
            await one.records.put(old, "k", "t", b"")


async def test_a_silent_node_of_which_nothing_was_taken_goes_on(make_world: MakeWorld) -> None:
    async with opened(make_world) as world:
        one, two = await member(world), await member(world)
        claim = await claimed(one, "t")
        await silence(world, two)
        assert await one.leases.renew() == Renewed()
        await one.records.put(claim, "k", "t", b"")
        assert isinstance(await two.leases.claim("t"), OwnedBy)


async def test_after_a_pause_of_all_the_first_to_wake_takes_nothing(make_world: MakeWorld) -> None:
    async with opened(make_world) as world:
        one, two = await member(world), await member(world)
        claim = await claimed(one, "t")
        world.now += 5 * BOUNDS.ttl
        await two.leases.renew()
        assert isinstance(await two.leases.claim("t"), OwnedBy)
        assert await two.leases.take(claim.node) == []
        assert await one.leases.renew() == Renewed()
        await one.records.put(claim, "k", "t", b"")


async def test_who_just_joined_may_not_judge_silence(make_world: MakeWorld) -> None:
    async with opened(make_world) as world:
        one = await member(world)
        await claimed(one, "t")
        world.now += 2 * BOUNDS.ttl
        young = await member(world)
        assert isinstance(await young.leases.claim("t"), OwnedBy)
        await silence(world, young, seconds=BOUNDS.ttl)
        await claimed(young, "t")


async def test_dead_nodes_without_threads_are_forgotten_when_somebody_joins(make_world: MakeWorld) -> None:
    async with opened(make_world) as world:
        one, owner = await member(world), await member(world)
        claim = await claimed(owner, "t")
        await world.kill(one)
        await world.kill(owner)
        last = await member(world)
        nodes = {node.id: node.alive for node in await last.leases.nodes()}
        assert len(nodes) == 2
        assert nodes[claim.node] is False


def test_a_text_that_a_database_refuses_is_kept_as_its_hash() -> None:
    assert storable("deploy 42") == "deploy 42"
    assert storable("a\0b").startswith("sha256:")
    assert storable("a\0b") != storable("a\0c")
