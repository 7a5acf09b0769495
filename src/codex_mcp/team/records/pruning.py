"""Deletes inactive agents: their records, journals and summaries. Agents that another server runs are left alone."""

from __future__ import annotations

import contextlib
import logging
import math
import os
from collections.abc import Container, Sequence
from typing import Final

from codex_mcp.base.blocking import in_thread
from codex_mcp.base.errors import Refused
from codex_mcp.state.contract import Fenced, OwnedBy, Store
from codex_mcp.team.agent import Agent, oldest_inactive
from codex_mcp.team.records.agent_store import delete_agent, read_agent, read_agents
from codex_mcp.team.records.summaries import path_of

logger = logging.getLogger(__name__)

AGENTS_KEPT: Final = 200
"""Inactive agents that can still be resumed. Each write of the registry contains all of them."""


async def prune_oldest(store: Store, state_dir: str, spared: Container[str], kept: int = AGENTS_KEPT) -> int:
    """Delete inactive agents beyond the newest `kept`, except those that are `spared`. Returns how many."""
    agents = await read_agents(store)
    old = [agent for agent in oldest_inactive(agents, kept) if agent.codex_id not in spared]
    removed = [agent for agent in old if await prune_agent(store, agent, math.nextafter(agent.last_active, math.inf))]
    if removed:
        gone = {agent.codex_id for agent in removed}
        rest = [agent for agent in agents if agent.codex_id not in gone]
        await in_thread(remove_summaries, state_dir, removed, rest)
        logger.info("deleted %d agents: only the newest %d inactive ones are kept", len(removed), kept)
    return len(removed)


async def prune_agent(store: Store, agent: Agent, before: float) -> bool:
    """Delete an agent, unless a server runs it or has used it since `before`. Needs a store that has joined.

    Do not call it for an agent of this server: the claim made here would fence the server's own.
    """
    claim = await store.leases.claim(agent.codex_id)
    if isinstance(claim, OwnedBy):
        return False
    try:
        # Read again under the claim: another server may have run the agent since the caller read its record.
        current = await read_agent(store, agent.codex_id)
        if current is None or current.last_active < before:
            await delete_agent(store, claim, current or agent)
            return True
        await store.leases.release(claim)
    except Fenced:
        pass  # another server was faster
    return False


def remove_summaries(state_dir: str, removed: Sequence[Agent], rest: Sequence[Agent]) -> None:
    """Delete the summaries of removed agents, except of threads that one of the `rest` continues. Blocks."""
    kept = {_summary_of(state_dir, agent) for agent in rest}
    for agent in removed:
        path = _summary_of(state_dir, agent)
        if path is not None and path not in kept:
            with contextlib.suppress(OSError):  # the folders go only if they are empty
                os.unlink(path)
                os.rmdir(os.path.dirname(path))
                os.rmdir(os.path.dirname(os.path.dirname(path)))


def _summary_of(state_dir: str, agent: Agent) -> str | None:
    with contextlib.suppress(Refused):  # an agent with an invalid identity or thread id has no summary
        return path_of(state_dir, agent.identity, agent.thread_id or agent.codex_id)
    return None
