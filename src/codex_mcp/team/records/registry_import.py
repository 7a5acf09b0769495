"""Takes over the agents of a registry that the store does not know: one of older tools, or of a database that is lost.

Only where the store has no agents at all. Otherwise the store is right: who is missing there has been forgotten.
"""

from __future__ import annotations

import asyncio
import logging
import os

from codex_mcp.state.contract import OwnedBy, Store
from codex_mcp.team.agent import Agent, at_rest
from codex_mcp.team.records.agent_store import AGENT, write_agent
from codex_mcp.team.records.registry import FILE, read_registry

logger = logging.getLogger(__name__)


async def import_registry(store: Store, state_dir: str) -> None:
    """Call it as a node, and before anything is written to the registry."""
    if await store.records.find(AGENT):
        return
    agents = await asyncio.to_thread(read_registry, os.path.join(state_dir, FILE))
    taken = [agent.codex_id for agent in agents if await _taken_over(store, agent)]
    if taken:
        logger.info("took over %d agents from the registry, which the store did not know", len(taken))


async def _taken_over(store: Store, agent: Agent) -> bool:
    claim = await store.leases.claim(agent.codex_id)
    if isinstance(claim, OwnedBy):
        return False
    is_new = await store.records.get(AGENT, agent.codex_id) is None  # else another server did it, and may have gone on
    if is_new:
        await write_agent(store, claim, at_rest(agent))
    await store.leases.release(claim)
    return is_new
