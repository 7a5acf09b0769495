"""The store_session opens when it is needed, buries the dead, and joins again when it was taken for dead."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from codex_mcp.state.contract import Bounds, OwnedBy, Store, Unavailable
from codex_mcp.team.agent import Agent, AgentStatus
from codex_mcp.team.records.agent_store import AGENT, APPROVAL
from codex_mcp.team.records.registry import read_registry
from codex_mcp.team.records.store_session import StoreSession
from tests.support.patience import PATIENCE
from tests.support.state.memory import MemoryStore, World
from tests.team.test_agent import agent


async def test_it_opens_once_and_says_how_it_stands(tmp_path: Path) -> None:
    opened: list[MemoryStore] = []

    async def open_store() -> Store:
        opened.append(MemoryStore(World()))
        return opened[-1]

    store_session = StoreSession(str(tmp_path), open_store)
    assert (store_session.is_open, store_session.lease) == (False, "none")
    with pytest.raises(RuntimeError):
        _ = store_session.store
    store_session.open_soon()
    await store_session.ready()
    await store_session.ready()
    assert (len(opened), store_session.is_open, store_session.lease) == (1, True, "holding")
    assert store_session.owner.node
    await store_session.aclose()


async def test_a_folder_that_cannot_be_used_is_tried_again(tmp_path: Path) -> None:
    attempts: list[int] = []

    async def open_store() -> Store:
        attempts.append(1)
        if len(attempts) == 1:
            raise Unavailable("no such folder")
        return MemoryStore(World())

    store_session = StoreSession(str(tmp_path), open_store)
    with pytest.raises(Unavailable):
        await store_session.ready()
    told = [store_session.trouble]
    await store_session.ready()
    assert [*told, store_session.trouble] == ["no such folder", None]
    await store_session.aclose()


async def test_agents_of_a_dead_server_are_stale_and_their_names_free(tmp_path: Path) -> None:
    world = World()
    dead = MemoryStore(world)
    node = await dead.leases.join()
    claim = await dead.leases.claim(agent().codex_id)
    assert not isinstance(claim, OwnedBy)
    await dead.records.put(claim, AGENT, agent().codex_id, msgspec.json.encode(agent()))
    await dead.records.put(claim, APPROVAL, f"{agent().codex_id}/turn/question-1", b"{}")
    await dead.records.bind(claim, "t", "arch")
    world.kill(node.id)

    async def open_store() -> Store:
        return MemoryStore(world)

    store_session = StoreSession(str(tmp_path), open_store)
    await store_session.ready()
    (stale,) = await store_session.writer.agents()
    assert (stale.status, stale.owner) == (AgentStatus.STALE, None)
    assert await store_session.store.records.bindings("t") == []
    assert await store_session.store.records.find(APPROVAL) == {}
    await store_session.aclose()


@pytest.mark.parametrize("slept", [0, 100])
async def test_who_was_taken_for_dead_finds_out_before_it_does_anything_and_joins_again(
    tmp_path: Path, slept: int
) -> None:
    world = World()

    async def open_store() -> Store:
        return MemoryStore(world)

    told: list[str] = []
    store_session = StoreSession(str(tmp_path), open_store)
    store_session.lost = lambda: told.append("lost")
    await store_session.ready()
    before, keeper = store_session.owner.node, store_session._keeper
    assert keeper is not None
    world.kill(before)
    other = MemoryStore(world)
    await other.leases.join()
    await other.leases.take(before)
    if slept:
        keeper._lease = keeper._lease.at(keeper._clock() + slept)
    else:
        await keeper.renew()  # on its beat, as ever
    await store_session.ready()
    assert told == ["lost"]
    assert store_session.lease == "holding"
    assert store_session.owner.node != before
    await store_session.aclose()
    await other.aclose()


async def test_a_server_that_dies_later_is_noticed_as_well(tmp_path: Path) -> None:
    world = World(Bounds(ttl=0.1))
    dying = MemoryStore(world)

    async def open_store() -> Store:
        return MemoryStore(world)

    store_session = StoreSession(str(tmp_path), open_store)
    await store_session.ready()
    node = await dying.leases.join()
    claim = await dying.leases.claim(agent().codex_id)
    assert not isinstance(claim, OwnedBy)
    await dying.records.put(claim, AGENT, agent().codex_id, msgspec.json.encode(agent()))
    world.kill(node.id)
    async with asyncio.timeout(PATIENCE):
        found: list[Agent] = []
        while [each.status for each in found] != [AgentStatus.STALE]:
            found = await asyncio.to_thread(read_registry, str(tmp_path / "registry.json"))
    await store_session.aclose()


async def test_agents_that_nobody_owns_are_stale_whatever_their_records_say(tmp_path: Path) -> None:
    world = World()
    gone = MemoryStore(world)
    await gone.leases.join()
    claim = await gone.leases.claim(agent().codex_id)
    assert not isinstance(claim, OwnedBy)
    await gone.records.put(claim, AGENT, agent().codex_id, msgspec.json.encode(agent()))
    await gone.aclose()  # it leaves in order, and has not said what became of its agent

    async def open_store() -> Store:
        return MemoryStore(world)

    store_session = StoreSession(str(tmp_path), open_store)
    await store_session.ready()
    assert [found.status for found in await store_session.writer.agents()] == [AgentStatus.STALE]
    assert [found.status for found in read_registry(str(tmp_path / "registry.json"))] == [AgentStatus.STALE]
    await store_session.aclose()
