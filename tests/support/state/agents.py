"""Agents in a state folder, as servers leave them there."""

import time
from pathlib import Path

import msgspec

from codex_mcp.state.contract import Claim, Store
from codex_mcp.team.agent import Agent, AgentState, AgentStatus, Owner
from codex_mcp.team.records.registry import RegistryFile

DAY = 86_400.0


def state_folder_of(home: Path) -> Path:
    """Where the state of a home lies if nothing else is said."""
    return home / ".config" / "atm" / "codex-sessions"


def an_agent(
    number: int, identity: str = "codex", *, status: AgentStatus = AgentStatus.CLOSED, days_ago: float = 0
) -> Agent:
    """An agent that was last used so many days ago."""
    return Agent(
        codex_id=f"codex:{number:012x}",
        identity=identity,
        team="default",
        cwd="/somewhere",
        started_at=1_000_000.0 + number,
        last_active=round(time.time() - days_ago * DAY),
        thread_id=f"thread-{number}",
        repo_name="shop",
        repo_root="/somewhere/shop",
        branch="main",
        status=status,
        thread_state=AgentState.IDLE if status is AgentStatus.ACTIVE else AgentState.CLOSED,
        turns=3,
    )


def owned(agent: Agent, node: str) -> Agent:
    """The agent, run by that node."""
    return msgspec.structs.replace(agent, owner=Owner(node, 1, "here"))


def register(folder: Path, *agents: Agent) -> None:
    """Write the registry."""
    file = RegistryFile(str(folder))
    assert file.write(agents, file.next_revision())


async def record(store: Store, agent: Agent) -> Claim:
    """Write an agent into the store, with its name and something that happened to it; it is claimed by this node."""
    claim = await store.leases.claim(agent.codex_id)
    assert isinstance(claim, Claim)
    await store.records.put(claim, "agent", agent.codex_id, msgspec.json.encode(agent))
    await store.records.bind(claim, agent.team, agent.identity)
    await store.journal.append(claim, "events", [b"{}"])
    return claim
