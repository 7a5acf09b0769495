"""Finds the conversation that a copy of an agent begins with."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.base.errors import Refused
from codex_mcp.codex.core import Fork, ThreadSpec
from codex_mcp.team import refusals
from codex_mcp.team.agent import Agent
from codex_mcp.team.directory import Directory
from codex_mcp.threads.thread import Thread
from codex_mcp.threads.turn_queue import Source


class ForkSource(Struct, frozen=True):
    agent: Agent
    spec: ThreadSpec
    """The settings of the agent, and what to copy."""


async def fork_source(directory: Directory, reference: str, principal: str) -> ForkSource:
    """The agent with this codex_id, identity or thread id: active, closed or stale. Raises Refused.

    Of a busy agent, the turns that have ended are copied.
    """
    agent = await directory.find(reference, principal)
    member = directory.roster.called(agent.codex_id, principal)
    if member is not None:
        agent = member.record
    elif (owner := await directory.living_owner(agent)) is not None:
        raise refusals.owned_elsewhere(agent, owner)
    if agent.thread_id is None or not agent.turns:
        raise Refused(f"Agent {agent.identity} ({agent.codex_id}) has no conversation yet that could be copied.")
    before = None if member is None or member.thread is None else await _running_turn(member.thread)
    return ForkSource(agent, replace(agent.spec, cwd=agent.cwd, fork=Fork(agent.thread_id, before)))


async def _running_turn(thread: Thread) -> str | None:
    turn = thread.current
    if turn is None:
        return None
    if turn.place.source is Source.CODEX:  # it has no prompt that could be waited for
        return turn.place.turn_id or None
    if not await turn.until_started():
        return None
    return turn.place.turn_id if thread.current is turn else None
