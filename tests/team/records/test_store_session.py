"""The office opens when it is needed, buries the dead, and joins again when it was taken for dead."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from codex_mcp.state.contract import Bounds, OwnedBy, Store, Unavailable
from codex_mcp.state.memory import MemoryStore, World
from codex_mcp.team.agent import Agent, Status
from codex_mcp.team.records.agent_store import AGENT, APPROVAL
from codex_mcp.team.records.registry import read_registry
from codex_mcp.team.records.store_session import Office
from tests.support.core.cores import PATIENCE
from tests.team.test_agent import agent


async def test_it_opens_once_and_says_how_it_stands(tmp_path: Path) -> None:
    opened: list[MemoryStore] = []

    async def open_store() -> Store:
        opened.append(MemoryStore(World()))
        return opened[-1]

    office = Office(str(tmp_path), open_store)
    assert (office.is_open, office.lease) == (False, "none")
    with pytest.raises(RuntimeError):
        _ = office.store
    office.open_soon()
    await office.ready()
    await office.ready()
    assert (len(opened), office.is_open, office.lease) == (1, True, "holding")
    assert office.owner.node
    await office.aclose()


async def test_a_folder_that_cannot_be_used_is_tried_again(tmp_path: Path) -> None:
    attempts: list[int] = []

    async def open_store() -> Store:
        attempts.append(1)
        if len(attempts) == 1:
            raise Unavailable("no such folder")
        return MemoryStore(World())

    office = Office(str(tmp_path), open_store)
    with pytest.raises(Unavailable):
        await office.ready()
    told = [office.trouble]
    await office.ready()
    assert [*told, office.trouble] == ["no such folder", None]
    await office.aclose()


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

    office = Office(str(tmp_path), open_store)
    await office.ready()
    (stale,) = await office.scribe.agents()
    assert (stale.status, stale.owner) == (Status.STALE, None)
    assert await office.store.records.bindings("t") == []
    assert await office.store.records.find(APPROVAL) == {}
    await office.aclose()


@pytest.mark.parametrize("slept", [0, 100])
async def test_who_was_taken_for_dead_finds_out_before_it_does_anything_and_joins_again(
    tmp_path: Path, slept: int
) -> None:
    world = World()

    async def open_store() -> Store:
        return MemoryStore(world)

    told: list[str] = []
    office = Office(str(tmp_path), open_store)
    office.lost = lambda: told.append("lost")
    await office.ready()
    before, keeper = office.owner.node, office._keeper
    assert keeper is not None
    world.kill(before)
    other = MemoryStore(world)
    await other.leases.join()
    await other.leases.take(before)
    if slept:
        keeper._lease = keeper._lease.at(keeper._clock() + slept)
    else:
        await keeper.renew()  # on its beat, as ever
    await office.ready()
    assert told == ["lost"]
    assert office.lease == "holding"
    assert office.owner.node != before
    await office.aclose()
    await other.aclose()


async def test_a_server_that_dies_later_is_noticed_as_well(tmp_path: Path) -> None:
    world = World(Bounds(ttl=0.1))
    dying = MemoryStore(world)

    async def open_store() -> Store:
        return MemoryStore(world)

    office = Office(str(tmp_path), open_store)
    await office.ready()
    node = await dying.leases.join()
    claim = await dying.leases.claim(agent().codex_id)
    assert not isinstance(claim, OwnedBy)
    await dying.records.put(claim, AGENT, agent().codex_id, msgspec.json.encode(agent()))
    world.kill(node.id)
    async with asyncio.timeout(PATIENCE):
        found: list[Agent] = []
        while [each.status for each in found] != [Status.STALE]:
            found = await asyncio.to_thread(read_registry, str(tmp_path / "registry.json"))
    await office.aclose()


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

    office = Office(str(tmp_path), open_store)
    await office.ready()
    assert [found.status for found in await office.scribe.agents()] == [Status.STALE]
    assert [found.status for found in read_registry(str(tmp_path / "registry.json"))] == [Status.STALE]
    await office.aclose()
