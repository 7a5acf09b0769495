import asyncio
import time
from pathlib import Path

import msgspec

from codex_mcp.base.settings.team import TeamSettings
from codex_mcp.cli.state.pruning import pruned
from codex_mcp.state.contract import Claim
from codex_mcp.state.embedded.store import open_store
from codex_mcp.team.agent import Agent
from codex_mcp.team.records.registry import read_registry
from codex_mcp.team.records.summaries import path_of, write_summary
from tests.support.state.agents import an_agent, record, register

NOW = time.time()


def settings_of(folder: Path) -> TeamSettings:
    return TeamSettings(state_dir=str(folder))


async def prune(folder: Path, *agents: Agent) -> list[Agent]:
    return await asyncio.to_thread(pruned, settings_of(folder), agents, NOW)


def registered(folder: Path) -> set[str]:
    return {agent.codex_id for agent in read_registry(str(folder / "registry.json"))}


async def test_everything_about_an_agent_is_forgotten(tmp_path: Path) -> None:
    old = an_agent(1, days_ago=1)
    store = await open_store(str(tmp_path))
    await store.leases.join()
    await store.leases.release(await record(store, old))
    assert await prune(tmp_path, old) == [old]
    assert await store.records.find("agent") == {}
    assert await store.records.bindings("default") == []
    assert await store.journal.read(old.codex_id, "events") == []
    assert registered(tmp_path) == set()
    assert [node.alive for node in await store.leases.nodes()] == [True]
    await store.aclose()


async def test_what_somebody_runs_is_left_alone(tmp_path: Path) -> None:
    agent = an_agent(1, days_ago=1)
    store = await open_store(str(tmp_path))
    await store.leases.join()
    await record(store, agent)
    assert await prune(tmp_path, agent) == []
    assert set(await store.records.find("agent")) == {agent.codex_id}
    assert registered(tmp_path) == {agent.codex_id}
    await store.aclose()


async def test_what_ran_since_it_was_looked_at_is_left_alone(tmp_path: Path) -> None:
    agent = an_agent(1, days_ago=1)
    store = await open_store(str(tmp_path))
    await store.leases.join()
    later = msgspec.structs.replace(agent, last_active=NOW + 1)
    await store.leases.release(await record(store, later))
    assert await prune(tmp_path, agent) == []
    assert set(await store.records.find("agent")) == {agent.codex_id}
    assert isinstance(await store.leases.claim(agent.codex_id), Claim)
    await store.aclose()


def test_where_no_server_of_ours_ran_the_registry_alone_is_changed(tmp_path: Path) -> None:
    old, other = an_agent(1, days_ago=1), an_agent(2)
    register(tmp_path, old, other)
    assert pruned(settings_of(tmp_path), [old], NOW) == [old]
    assert registered(tmp_path) == {other.codex_id}
    assert not (tmp_path / "state.db").exists()


def test_a_summary_stays_while_its_thread_goes_on_under_another_id(tmp_path: Path) -> None:
    old = an_agent(1, days_ago=1)
    again = msgspec.structs.replace(an_agent(2), thread_id=old.thread_id)
    register(tmp_path, old, again)
    write_summary(str(tmp_path), "codex", "thread-1", "done")
    pruned(settings_of(tmp_path), [old], NOW)
    assert Path(path_of(str(tmp_path), "codex", "thread-1")).exists()
    pruned(settings_of(tmp_path), [again], NOW)
    assert not (tmp_path / "codex").exists()


def test_nothing_to_do_makes_nothing(tmp_path: Path) -> None:
    assert pruned(settings_of(tmp_path / "nosuch"), [], NOW) == []
    assert list(tmp_path.iterdir()) == []
