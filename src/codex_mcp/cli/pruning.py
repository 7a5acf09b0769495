"""Forgets agents that nobody runs: their records, their journals, their summaries. Another server's are left alone."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Sequence

from codex_mcp.state.contract import Fenced, OwnedBy, Store
from codex_mcp.state.embedded import opening
from codex_mcp.state.embedded.store import open_store
from codex_mcp.team import registry
from codex_mcp.team.agent import Agent
from codex_mcp.team.registry import RegistryFile, read_registry
from codex_mcp.team.scribe import AGENT, decoded
from codex_mcp.team.summaries import path_of


def pruned(folder: str, agents: Sequence[Agent], before: float) -> list[Agent]:
    """Forget those of these agents that nobody runs or has used since; return them. Raises Unavailable, OSError."""
    if not agents:
        return []
    if os.path.exists(os.path.join(folder, opening.NAME)):
        removed, rest = asyncio.run(_pruned_from_store(folder, agents, before))
    else:
        removed, rest = _pruned_from_file(folder, agents)
    _remove_summaries(folder, removed, rest)
    return removed


async def _pruned_from_store(folder: str, agents: Sequence[Agent], before: float) -> tuple[list[Agent], list[Agent]]:
    store = await open_store(folder)
    try:
        await store.leases.join()
        removed = [agent for agent in agents if await _forgotten(store, agent, before)]
        papers = RegistryFile(folder)
        revision = await asyncio.to_thread(papers.next_revision)
        rest = list(decoded((await store.records.find(AGENT)).values()))
        await asyncio.to_thread(papers.write, rest, revision)
    finally:
        await store.aclose()
    return removed, rest


async def _forgotten(store: Store, agent: Agent, before: float) -> bool:
    claim = await store.leases.claim(agent.codex_id)
    if isinstance(claim, OwnedBy):
        return False  # somebody has brought it back meanwhile
    try:
        body = await store.records.get(AGENT, agent.codex_id)
        # Looked at again, now that it is ours: the registry may be older than what happened last.
        as_it_is = next(iter(decoded([] if body is None else [body])), None)
        if as_it_is is not None and as_it_is.last_active >= before:
            return False
        await store.records.unbind(claim, agent.team, agent.identity)
        await store.journal.forget(claim)
        await store.records.delete(claim, AGENT, agent.codex_id)
        return True
    except Fenced:
        return False
    finally:
        with contextlib.suppress(Fenced):
            await store.leases.release(claim)


def _pruned_from_file(folder: str, agents: Sequence[Agent]) -> tuple[list[Agent], list[Agent]]:
    """Where no server of ours has run yet, there is only the registry, of those before us."""
    gone = {agent.codex_id for agent in agents}
    papers = RegistryFile(folder)
    revision = papers.next_revision()
    rest = [agent for agent in read_registry(os.path.join(folder, registry.FILE)) if agent.codex_id not in gone]
    papers.write(rest, revision)
    return list(agents), rest


def _remove_summaries(folder: str, removed: Sequence[Agent], rest: Sequence[Agent]) -> None:
    kept = {_summary_of(folder, agent) for agent in rest}
    for agent in removed:
        path = _summary_of(folder, agent)
        if path not in kept:  # else the thread goes on under another id
            # The folders go if nothing else is in them.
            with contextlib.suppress(OSError):
                os.unlink(path)
                os.rmdir(os.path.dirname(path))
                os.rmdir(os.path.dirname(os.path.dirname(path)))


def _summary_of(folder: str, agent: Agent) -> str:
    return path_of(folder, agent.identity, agent.thread_id or agent.codex_id)
