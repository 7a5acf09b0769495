"""A registry that the store does not know is taken over once, and never against the store."""

from pathlib import Path

from msgspec.structs import replace

from codex_mcp.team.agent import Agent, AgentState, AgentStatus, Owner
from codex_mcp.team.records.agent_store import read_agents
from codex_mcp.team.records.registry import RegistryFile
from codex_mcp.team.records.registry_import import import_registry
from tests.support.state.memory import MemoryStore, World

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


async def test_its_agents_are_at_rest_and_free(tmp_path: Path) -> None:
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
