"""The session opens when it is needed, buries the dead, and joins again when it was taken for dead."""

import asyncio
import contextlib
import signal
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from codex_mcp.state.contract import Bounds, Claim, OwnedBy, Store, Unavailable
from codex_mcp.state.postgres.store import open_store as open_postgres
from codex_mcp.team.agent import Agent, AgentState, AgentStatus, Owner
from codex_mcp.team.records.agent_store import AGENT, QUESTION, read_agents
from codex_mcp.team.records.registry import RegistryFile, read_registry
from codex_mcp.team.records.store_session import StoreSession, import_registry
from tests.support.patience import PATIENCE
from tests.support.requirements import requirement
from tests.support.state.memory import MemoryStore, World
from tests.support.state.postgres import Postgres
from tests.team.test_agent import agent


class Listener:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.nodes: list[str] = []

    def joined(self, owner: Owner) -> None:
        self.nodes.append(owner.node)

    def agent_taken_over(self, claim: Claim) -> None:
        self.told.append(claim.thread)

    def all_taken_over(self) -> None:
        self.told.append("all")

    def lease_renewed_late(self) -> None:
        self.told.append("late")

    def stand_still(self) -> None:
        self.told.append("still")

    async def go_on(self) -> None:
        self.told.append("on")

    async def end_still(self) -> None:
        self.told.append("end")


async def test_it_opens_once_and_says_how_it_stands(tmp_path: Path) -> None:
    opened: list[MemoryStore] = []

    async def open_store() -> Store:
        opened.append(MemoryStore(World()))
        return opened[-1]

    session = StoreSession(str(tmp_path), open_store, Listener())
    assert (session.is_open, session.lease) == (False, "none")
    with pytest.raises(RuntimeError):
        _ = session.store
    session.open_soon()
    await session.ready()
    await session.ready()
    assert (len(opened), session.is_open, session.lease) == (1, True, "holding")
    assert session.owner.node
    await session.aclose()


async def test_a_folder_that_cannot_be_used_is_tried_again(tmp_path: Path) -> None:
    attempts: list[int] = []

    async def open_store() -> Store:
        attempts.append(1)
        if len(attempts) == 1:
            raise Unavailable("no such folder")
        return MemoryStore(World())

    session = StoreSession(str(tmp_path), open_store, Listener())
    with pytest.raises(Unavailable):
        await session.ready()
    told = [session.trouble]
    await session.ready()
    assert [*told, session.trouble] == ["no such folder", None]
    await session.aclose()


@requirement("NFR-5")
async def test_agents_of_a_dead_server_are_stale_and_their_names_free(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    world = World()
    dead = MemoryStore(world)
    node = await dead.leases.join()
    claim = await dead.leases.claim(agent().codex_id)
    assert not isinstance(claim, OwnedBy)
    await dead.records.put(claim, AGENT, agent().codex_id, msgspec.json.encode(agent()))
    await dead.records.put(claim, QUESTION, f"{agent().codex_id}/turn/question-1", b"{}")
    await dead.records.bind(claim, "t", "arch")
    world.kill(node.id)

    async def open_store() -> Store:
        return MemoryStore(world)

    session = StoreSession(str(tmp_path), open_store, Listener())
    await session.ready()
    (stale,) = await session.writer.agents()
    assert (stale.status, stale.owner) == (AgentStatus.STALE, None)
    assert await session.store.records.bindings("t") == []
    assert await session.store.records.find(QUESTION) == {}
    (told,) = [each for each in caplog.records if "is stale" in each.getMessage()]
    assert (told.levelname, "arch" in told.getMessage()) == ("WARNING", True)
    await session.aclose()


@pytest.mark.parametrize("slept", [0, 100])
async def test_who_was_taken_for_dead_finds_out_before_it_does_anything_and_joins_again(
    tmp_path: Path, slept: int
) -> None:
    world = World()

    async def open_store() -> Store:
        return MemoryStore(world)

    listener = Listener()
    session = StoreSession(str(tmp_path), open_store, listener)
    await session.ready()
    before, keeper = session.owner.node, session._keeper
    assert keeper is not None
    world.kill(before)
    other = MemoryStore(world)
    await other.leases.join()
    await other.leases.take(before)
    if slept:
        keeper._lease = keeper._lease.at(keeper._clock() + slept)
    else:
        await keeper.renew()  # on its beat, as ever
    await session.ready()
    assert listener.told == ["all"]
    assert session.lease == "holding"
    assert session.owner.node != before
    assert listener.nodes == [before, session.owner.node]
    await session.aclose()
    await other.aclose()


async def test_a_server_that_dies_later_is_noticed_as_well(tmp_path: Path) -> None:
    world = World(Bounds(ttl=0.1))
    dying = MemoryStore(world)

    async def open_store() -> Store:
        return MemoryStore(world)

    session = StoreSession(str(tmp_path), open_store, Listener())
    await session.ready()
    node = await dying.leases.join()
    claim = await dying.leases.claim(agent().codex_id)
    assert not isinstance(claim, OwnedBy)
    await dying.records.put(claim, AGENT, agent().codex_id, msgspec.json.encode(agent()))
    world.kill(node.id)
    async with asyncio.timeout(PATIENCE):
        found: list[Agent] = []
        while [each.status for each in found] != [AgentStatus.STALE]:
            found = await asyncio.to_thread(read_registry, str(tmp_path / "registry.json"))
    await session.aclose()


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

    session = StoreSession(str(tmp_path), open_store, Listener())
    await session.ready()
    assert [found.status for found in await session.writer.agents()] == [AgentStatus.STALE]
    assert [found.status for found in read_registry(str(tmp_path / "registry.json"))] == [AgentStatus.STALE]
    await session.aclose()


ACTIVE = Agent(
    codex_id="codex:1",
    identity="arch",
    team="default",
    cwd="/",
    started_at=1.0,
    last_active=2.0,
    thread_state=AgentState.BUSY,
    owner=Owner("n", 1, "h"),
)
CLOSED = replace(ACTIVE, codex_id="codex:2", status=AgentStatus.CLOSED, thread_state=AgentState.CLOSED, owner=None)


def write(folder: Path, *agents: Agent) -> None:
    registry = RegistryFile(str(folder))
    registry.write(agents, registry.next_revision())


async def agents_of(store: MemoryStore) -> list[Agent]:
    return await read_agents(store)


async def test_its_agents_are_inactive_and_free(tmp_path: Path) -> None:
    write(tmp_path, ACTIVE, CLOSED)
    store = MemoryStore(World())
    await store.leases.join()
    await import_registry(store, str(tmp_path))
    stale = replace(ACTIVE, status=AgentStatus.STALE, thread_state=AgentState.CLOSED, owner=None)
    assert await agents_of(store) == [stale, CLOSED]
    assert [await store.leases.owner(agent.codex_id) for agent in (ACTIVE, CLOSED)] == [None, None]
    await store.aclose()


async def test_what_the_store_has_forgotten_does_not_come_back(tmp_path: Path) -> None:
    world = World()
    store, other = MemoryStore(world), MemoryStore(world)
    await store.leases.join()
    await other.leases.join()
    write(tmp_path, ACTIVE)
    await other.leases.claim(ACTIVE.codex_id)
    await import_registry(store, str(tmp_path))  # another server is at it
    assert await agents_of(store) == []
    write(tmp_path, CLOSED)
    await import_registry(store, str(tmp_path))
    write(tmp_path, ACTIVE, CLOSED)
    await import_registry(store, str(tmp_path))
    assert await agents_of(store) == [CLOSED]
    await store.aclose()
    await other.aclose()


async def test_no_registry_is_no_agent(tmp_path: Path) -> None:
    store = MemoryStore(World())
    await store.leases.join()
    await import_registry(store, str(tmp_path))
    assert await agents_of(store) == []
    await store.aclose()


async def _ready_for_ever(session: StoreSession) -> None:
    while True:
        await session.ready()
        await asyncio.sleep(0)


async def test_while_the_database_is_silent_nothing_new_begins_and_nobody_waits_long(tmp_path: Path) -> None:
    """An overdue lease that others may end: the call is refused, and the next one after the database is back is not."""
    postgres = Postgres()
    postgres.start()
    dsn = await postgres.schema()
    listener = Listener()
    session = StoreSession(str(tmp_path), lambda: open_postgres(dsn, str(tmp_path), Bounds(ttl=2.0)), listener)
    try:
        await session.ready()
        postgres.signal_all(signal.SIGSTOP)
        with pytest.raises(Unavailable, match="begins nothing new"):
            await _ready_for_ever(session)
        assert session.lease == "frozen"
        postgres.signal_all(signal.SIGCONT)
        while True:
            with contextlib.suppress(Unavailable):
                await session.ready()
                break
        assert session.lease == "holding"
        assert (listener.told[0], listener.told[-1], "end" in listener.told) == ("still", "on", False)
    finally:
        postgres.signal_all(signal.SIGCONT)
        await session.aclose()
        postgres.remove()
