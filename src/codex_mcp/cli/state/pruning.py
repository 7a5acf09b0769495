"""Remove inactive agents: their records, journals and summaries. Agents that a server runs are left alone."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence

from codex_mcp.base.blocking import in_thread
from codex_mcp.base.settings.team import TeamSettings
from codex_mcp.cli.state.worktrees import remove_clean
from codex_mcp.git.worktree import Left, Worktree
from codex_mcp.state.embedded import opening
from codex_mcp.state.opening import open_state
from codex_mcp.team.agent import Agent
from codex_mcp.team.records import registry
from codex_mcp.team.records.agent_store import read_agents
from codex_mcp.team.records.pruning import prune_agent, remove_summaries
from codex_mcp.team.records.registry import RegistryFile, read_registry


def pruned(settings: TeamSettings, agents: Sequence[Agent], before: float) -> list[Agent]:
    """Remove those of these agents that are inactive since `before`; return them. Raises Unavailable, OSError."""
    if not agents:
        return []
    if settings.state is not None or os.path.exists(os.path.join(settings.state_dir, opening.NAME)):
        removed, rest = asyncio.run(_prune_store(settings, agents, before))
    else:
        removed, rest = _pruned_from_file(settings.state_dir, agents)
    remove_summaries(settings.state_dir, removed, rest)
    return removed


def removed_worktrees(settings: TeamSettings, worktrees: Sequence[Worktree]) -> list[Left]:
    """Remove those of these worktrees in which nothing would be lost. Raises Unavailable, OSError."""
    return asyncio.run(_remove_worktrees(settings, worktrees)) if worktrees else []


async def _remove_worktrees(settings: TeamSettings, worktrees: Sequence[Worktree]) -> list[Left]:
    store = await open_state(settings.state, settings.state_dir)
    try:
        await store.leases.join()
        return await remove_clean(store, worktrees)
    finally:
        await store.aclose()


async def _prune_store(
    settings: TeamSettings, agents: Sequence[Agent], before: float
) -> tuple[list[Agent], list[Agent]]:
    store = await open_state(settings.state, settings.state_dir)
    try:
        await store.leases.join()
        removed = [agent for agent in agents if await prune_agent(store, agent, before)]
        file = RegistryFile(settings.state_dir)
        revision = await in_thread(file.next_revision)
        rest = await read_agents(store)
        await in_thread(file.write, rest, revision)
    finally:
        await store.aclose()
    return removed, rest


def _pruned_from_file(folder: str, agents: Sequence[Agent]) -> tuple[list[Agent], list[Agent]]:
    """If no server of ours has run yet, there is only the registry that atm-agent-mcp wrote."""
    gone = {agent.codex_id for agent in agents}
    file = RegistryFile(folder)
    revision = file.next_revision()
    rest = [agent for agent in read_registry(os.path.join(folder, registry.FILE)) if agent.codex_id not in gone]
    file.write(rest, revision)
    return list(agents), rest
