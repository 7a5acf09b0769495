"""Old inactive agents are deleted with everything written about them; active ones never are."""

import os
from pathlib import Path

import msgspec
from msgspec.structs import replace

from codex_mcp.state.contract import OwnedBy, Store
from codex_mcp.team.agent import Agent, AgentStatus, RequestKey
from codex_mcp.team.records.agent_store import AGENT, ANSWER, EVENTS, answer_key
from codex_mcp.team.records.pruning import prune_agent, prune_oldest, remove_summaries
from codex_mcp.team.records.summaries import read_summary, write_summary
from tests.support.state.memory import MemoryStore, World
from tests.team.test_agent import agent


def closed(number: int) -> Agent:
    return replace(
        agent(),
        codex_id=f"codex:{number}",
        thread_id=f"thread-{number}",
        identity=f"dev-{number}",
        last_active=float(number),
        status=AgentStatus.CLOSED,
        requests=(RequestKey("r", "digest"),),
    )


async def written(store: Store, *agents: Agent) -> None:
    for each in agents:
        claim = await store.leases.claim(each.codex_id)
        assert not isinstance(claim, OwnedBy)
        await store.records.put(claim, AGENT, each.codex_id, msgspec.json.encode(each))
        await store.journal.append(claim, EVENTS, [b"{}"])
        await store.records.put(claim, ANSWER, answer_key(each.codex_id, "r"), b"{}")
        await store.leases.release(claim)


async def test_the_oldest_are_forgotten_with_their_journals_and_summaries(tmp_path: Path) -> None:
    store = MemoryStore(World())
    await store.leases.join()
    await written(store, *map(closed, range(5)))
    for number in range(5):
        write_summary(str(tmp_path), f"dev-{number}", f"thread-{number}", "done")
    assert await prune_oldest(store, str(tmp_path), spared=(), kept=3) == 2
    assert list(await store.records.find(AGENT)) == ["codex:2", "codex:3", "codex:4"]
    assert list(await store.records.find(ANSWER)) == [answer_key(f"codex:{number}", "r") for number in (2, 3, 4)]
    assert [await store.journal.read(f"codex:{number}", EVENTS) for number in (1, 2)] == [[], [b"{}"]]
    assert sorted(os.listdir(tmp_path)) == ["dev-2", "dev-3", "dev-4"]
    assert await prune_oldest(store, str(tmp_path), spared=(), kept=3) == 0
    await store.aclose()


async def test_those_of_others_and_our_own_are_left_alone_and_those_that_were_used_since(tmp_path: Path) -> None:
    world = World()
    store, other = MemoryStore(world), MemoryStore(world)
    await store.leases.join()
    await other.leases.join()
    await written(store, *map(closed, range(3)))
    await other.leases.claim("codex:0")
    assert await prune_oldest(store, str(tmp_path), spared={"codex:1"}, kept=0) == 1
    assert list(await store.records.find(AGENT)) == ["codex:0", "codex:1"]
    assert not await prune_agent(store, closed(1), before=1.0)
    assert list(await store.records.find(AGENT)) == ["codex:0", "codex:1"]
    await store.aclose()
    await other.aclose()


def test_the_summary_of_a_thread_that_goes_on_stays(tmp_path: Path) -> None:
    write_summary(str(tmp_path), "dev-1", "thread-1", "done")
    remove_summaries(str(tmp_path), [closed(1)], [replace(closed(1), codex_id="codex:new")])
    assert read_summary(str(tmp_path), "dev-1", "thread-1") is not None
    remove_summaries(str(tmp_path), [replace(closed(1), identity="..")], [])
    assert read_summary(str(tmp_path), "dev-1", "thread-1") is not None
