"""Calls with a `request_id` run once: a repeat gets the agent and the answer of the first call, even after a close or a
restart of the server.

The ids are in the agents' records, which are written before the turn begins. A server that dies before the turn has
ended leaves a request without an answer; a repeat is told so, and nothing runs twice.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Final
from weakref import WeakValueDictionary

from msgspec import Struct

from codex_mcp.team import refusals
from codex_mcp.team.agent import Agent, RequestKey, find_request
from codex_mcp.team.directory import Directory
from codex_mcp.team.records.agent_store import read_answer
from codex_mcp.team.records.store_session import StoreSession
from codex_mcp.team.roster import Member
from codex_mcp.threads.record import Outcome, Status
from codex_mcp.threads.turn import Turn

NO_ANSWER: Final = (
    "The server stopped before this request was answered, and it was not run again: how far the agent came is not known"
)


class Repeat(Struct, frozen=True):
    """What an earlier call with the same request id led to: a turn that this server still knows, or its outcome."""

    agent: Agent
    member: Member | None
    turn: Turn | None
    outcome: Outcome
    is_elsewhere: bool = False


class Requests:
    def __init__(self, directory: Directory, session: StoreSession) -> None:
        self._directory = directory
        self._roster = directory.roster
        self._session = session
        self._locks: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    @contextlib.asynccontextmanager
    async def one_at_a_time(self, principal: str, request: RequestKey | None) -> AsyncIterator[None]:
        """Hold a call back until an earlier one with the same id has its turn, or was refused."""
        if request is None:
            yield
            return
        lock = self._locks.setdefault((principal, request.id), asyncio.Lock())
        async with lock:
            yield

    async def find_repeat(self, principal: str, request: RequestKey) -> Repeat | None:
        """What the same request led to before. Raises TeamRefused if its arguments were different."""
        await self._session.ready()
        ours = self._roster.of(principal)
        member = next((member for member in ours if find_request(member.agent, request.id) is not None), None)
        agent = await self._directory.find_requested(principal, request) if member is None else member.record
        if agent is None:
            return None
        before = find_request(agent, request.id)
        if before is not None and before.arguments != request.arguments:
            raise refusals.request_reused(agent, request.id)
        turn = None if member is None else member.requested.turns.get(request.id)
        if turn is not None:
            return Repeat(agent, member, turn, turn.outcome)
        outcome = await read_answer(self._session.store, agent, request.id)
        node = None if member is not None else await self._directory.living_owner(agent)
        if outcome is None and node is not None:  # the other server may be running it right now
            raise refusals.owned_elsewhere(agent, node)
        no_answer = Outcome(agent.thread_id or "", Status.INTERRUPTED, NO_ANSWER, "", None, (), 0.0)
        return Repeat(agent, member, None, outcome or no_answer, is_elsewhere=node is not None)
