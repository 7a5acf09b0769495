"""Forgets agents that nobody runs: their records, their journals, their summaries. Another server's are left alone."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import os
from collections.abc import Container, Sequence
from typing import Final

from codex_mcp.base.errors import Refused
from codex_mcp.state.contract import Fenced, OwnedBy, Store
from codex_mcp.team.agent import Agent, oldest_inactive
from codex_mcp.team.records.agent_store import AGENT, ANSWER, read_agent, read_agents
from codex_mcp.team.records.summaries import path_of
from codex_mcp.team.requests import answer_key

logger = logging.getLogger(__name__)

AGENTS_KEPT: Final = 200
"""Agents that nobody runs and that can still be resumed. Every one of them is in each writing of the registry."""


async def prune_oldest(store: Store, state_dir: str, spared: Container[str], kept: int = AGENTS_KEPT) -> int:
    """Forget all but the newest of those that nobody runs; `spared` are ours. Returns how many there were."""
    agents = await read_agents(store)
    old = [agent for agent in oldest_inactive(agents, kept) if agent.codex_id not in spared]
    removed = [agent for agent in old if await prune_agent(store, agent, math.nextafter(agent.last_active, math.inf))]
    if removed:
        gone = {agent.codex_id for agent in removed}
        rest = [agent for agent in agents if agent.codex_id not in gone]
        await asyncio.to_thread(remove_summaries, state_dir, removed, rest)
        logger.info("forgot %d agents: only the newest %d that nobody runs are kept", len(removed), kept)
    return len(removed)


async def prune_agent(store: Store, agent: Agent, before: float) -> bool:
    """Forget one, unless somebody runs it or has used it since `before`. Call it as a node, and of none of our own."""
    claim = await store.leases.claim(agent.codex_id)
    if isinstance(claim, OwnedBy):
        return False  # somebody has brought it back meanwhile
    try:
        # Looked at again, now that it is ours: what we read of it may be older than what happened last.
        as_it_is = await read_agent(store, agent.codex_id)
        if as_it_is is not None and as_it_is.last_active >= before:
            return False
        await store.records.unbind(claim, agent.team, agent.identity)
        await store.journal.forget(claim)
        for request in agent.requests if as_it_is is None else as_it_is.requests:
            await store.records.delete(claim, ANSWER, answer_key(agent.codex_id, request.id))
        await store.records.delete(claim, AGENT, agent.codex_id)
        return True
    except Fenced:
        return False
    finally:
        with contextlib.suppress(Fenced):
            await store.leases.release(claim)


def remove_summaries(state_dir: str, removed: Sequence[Agent], rest: Sequence[Agent]) -> None:
    """Remove what these said of their work, unless the thread goes on under another id. Touches the disk."""
    kept = {_summary_of(state_dir, agent) for agent in rest}
    for agent in removed:
        path = _summary_of(state_dir, agent)
        if path is not None and path not in kept:
            # The folders go if nothing else is in them.
            with contextlib.suppress(OSError):
                os.unlink(path)
                os.rmdir(os.path.dirname(path))
                os.rmdir(os.path.dirname(os.path.dirname(path)))


def _summary_of(state_dir: str, agent: Agent) -> str | None:
    with contextlib.suppress(Refused):  # a name or an id that is none, for which there is no summary
        return path_of(state_dir, agent.identity, agent.thread_id or agent.codex_id)
    return None
