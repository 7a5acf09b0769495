"""Calls with a `request_id` run once: a repeat gets the agent and the answer of the first call, also after a close or a
restart.

The ids are in the agents' records, which are written before the turn begins. A server that dies before the turn has
ended leaves a request without an answer; a repeat is told so, and nothing runs twice.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from weakref import WeakValueDictionary

from msgspec import Struct

from codex_mcp.base.settings.team import TeamSettings
from codex_mcp.state.contract import Node
from codex_mcp.team import refusals
from codex_mcp.team.agent import Agent, RequestKey
from codex_mcp.team.member import Member
from codex_mcp.team.records.agent_store import read_answer
from codex_mcp.team.records.store_session import StoreSession
from codex_mcp.team.requests import agent_of, no_answer, request_in
from codex_mcp.team.roster import Roster
from codex_mcp.threads.record import Outcome
from codex_mcp.threads.turn import Turn


class Repeat(Struct, frozen=True):
    """What an earlier call with the same request id led to: a turn that this server still knows, or its outcome."""

    agent: Agent
    member: Member | None
    turn: Turn | None
    outcome: Outcome
    is_elsewhere: bool = False
    """Another server runs the agent now."""


class Repeats:
    """Recognises requests that came before."""

    def __init__(self, settings: TeamSettings, roster: Roster, store_session: StoreSession) -> None:
        self._settings = settings
        self._roster = roster
        self._session = store_session
        self._locks: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    @contextlib.asynccontextmanager
    async def one_at_a_time(self, principal: str, request: RequestKey | None) -> AsyncIterator[None]:
        """Calls with the same id wait here until the one before them has its turn, or was refused."""
        if request is None:
            yield
            return
        lock = self._locks.setdefault((principal, request.id), asyncio.Lock())
        async with lock:
            yield

    async def earlier(self, principal: str, request: RequestKey) -> Repeat | None:
        """What the same request led to before. Raises TeamRefused if it asked for something else then."""
        await self._session.ready()
        member = self._member(principal, request)
        agent = await self._recorded(principal, request) if member is None else member.record
        if agent is None:
            return None
        before = request_in(agent, request.id)
        if before is not None and before.arguments != request.arguments:
            raise refusals.request_reused(agent, request.id)
        turn = None if member is None else member.requested.get(request.id)
        if turn is not None:
            return Repeat(agent, member, turn, turn.outcome)
        outcome = await read_answer(self._session.store, agent, request.id)
        node = None if member is not None else await self._other_server(agent)
        if outcome is None and node is not None:  # which may be at it right now
            raise refusals.owned_elsewhere(agent, node)
        return Repeat(agent, member, None, outcome or no_answer(agent), is_elsewhere=node is not None)

    def _member(self, principal: str, request: RequestKey) -> Member | None:
        ours = self._roster.of(principal)
        return next((member for member in ours if request_in(member.agent, request.id) is not None), None)

    async def _recorded(self, principal: str, request: RequestKey) -> Agent | None:
        agents = await self._session.writer.agents()
        team = self._settings.team
        return agent_of((each for each in agents if (each.principal, each.team) == (principal, team)), request.id)

    async def _other_server(self, agent: Agent) -> Node | None:
        """The server that runs it, if that is alive."""
        owner = await self._session.store.leases.owner(agent.codex_id)
        return owner if owner is not None and owner.alive else None
