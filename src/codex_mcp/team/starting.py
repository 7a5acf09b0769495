"""Starts agents: a claim, an identity, a thread, the first turn. If any of it fails, nothing of the agent is left."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator
from typing import Final

from msgspec import Struct

from codex_mcp.base.errors import Refused
from codex_mcp.base.identity import choose_identity, why_invalid
from codex_mcp.base.settings.team import TeamSettings
from codex_mcp.codex.core import ThreadSpec
from codex_mcp.state.contract import Claim, IdentityTaken, NameOwned, storable
from codex_mcp.team import refusals
from codex_mcp.team.agent import CODEX_ID_PREFIX, Agent
from codex_mcp.team.directory import Directory
from codex_mcp.team.member_threads import MemberThreads, stored_spec
from codex_mcp.team.records.agent_store import read_agent
from codex_mcp.team.records.audit_entry import shown
from codex_mcp.team.records.store_session import StoreSession
from codex_mcp.team.roster import Member
from codex_mcp.team.workplaces import Workplaces

ID_BYTES: Final = 6
"""Of a codex_id: short enough for a model to repeat, and long enough never to occur twice."""

NAME_ATTEMPTS: Final = 20
"""How often another server may take the default identity that we have just chosen."""


class AgentOrder(Struct, frozen=True, kw_only=True):
    """An agent to start, and its first prompt."""

    spec: ThreadSpec
    prompt: str = ""
    warnings: tuple[str, ...] = ()
    """Told to the caller before the first turn begins."""
    principal: str
    identity: str | None = None
    default_identity: str
    role: str | None = None
    tag: str | None = None
    source: str | None = None
    """The agent file that it comes from."""
    request_id: str | None = None
    auto_mail: bool = True
    worktree: bool = False
    """Give it a worktree of its own."""


class Starting:
    def __init__(
        self,
        settings: TeamSettings,
        session: StoreSession,
        directory: Directory,
        threads: MemberThreads,
        workplaces: Workplaces,
    ) -> None:
        self._settings = settings
        self._roster = directory.roster
        self._session = session
        self._directory = directory
        self._threads = threads
        self._workplaces = workplaces
        self._naming = asyncio.Lock()
        """One agent at a time: many that start at once would all try the same numbers."""

    @contextlib.asynccontextmanager
    async def start(self, order: AgentOrder) -> AsyncIterator[Member]:
        """Start an agent, and give it its first turn within this block: if that fails, so does the start.

        Raises Refused.
        """
        await self._session.ready()
        if order.identity is not None and (why := why_invalid(order.identity)) is not None:
            raise Refused(why)
        self._directory.check_capacity(order.principal)
        claim = await self._claim_for(order)
        member = Member(self._new_agent(claim.thread, order))
        member.questions.were_written({})  # it has none in the store
        async with member.life, self._joining(member, claim):
            async with self._naming:
                await self._name(member, claim, order)
            spec = order.spec
            if order.worktree:
                spec = await self._workplaces.make(member, spec)
            await self._threads.start(member, spec)
            yield member

    def _new_agent(self, codex_id: str, order: AgentOrder) -> Agent:
        now = time.time()
        return Agent(
            codex_id=codex_id,
            identity=order.identity or order.default_identity,
            team=self._settings.team,
            cwd=order.spec.cwd or os.getcwd(),
            started_at=now,
            last_active=now,
            tag=None if order.tag is None else shown(order.tag),  # every list shows it, to everyone
            role=order.role,
            agent_source=order.source,
            principal=order.principal,
            auto_mail=self._settings.auto_mail and order.auto_mail,
            host=self._session.owner.host,
            owner=self._session.owner,
            spec=stored_spec(order.spec),
        )

    async def _claim_for(self, order: AgentOrder) -> Claim:
        """The claim of a new agent. If two servers get the same request at the same time, only one gets the claim."""
        codex_id = f"{CODEX_ID_PREFIX}{os.urandom(ID_BYTES).hex()}"
        claim = await self._directory.claim(codex_id)
        if order.request_id is None:
            return claim
        store, name = self._session.store, f"{self._settings.team}/{storable(order.request_id)}"
        earlier = await store.records.once(claim, order.principal, name)
        if earlier is None or earlier.thread == codex_id:
            return claim
        await store.leases.release(claim)
        claim = await self._directory.claim(earlier.thread)
        agent = await read_agent(store, earlier.thread)
        if agent is None:  # its start failed, or it was deleted: its id is used again
            return claim
        await store.leases.release(claim)
        raise refusals.just_started(agent)

    @contextlib.asynccontextmanager
    async def _joining(self, member: Member, claim: Claim) -> AsyncIterator[None]:
        member.take_claim(claim)
        try:
            self._directory.check_capacity(member.agent.principal)  # again: others may have started meanwhile
            self._roster.add(member)
            yield
        except BaseException:
            await asyncio.shield(self._undo(member))
            raise

    async def _undo(self, member: Member) -> None:
        thread = member.detach()
        self._roster.remove(member)
        await self._session.writer.drop(member)
        await self._threads.discard(thread)
        await self._workplaces.undo(member)

    async def _name(self, member: Member, claim: Claim, order: AgentOrder) -> None:
        for _attempt in range(NAME_ATTEMPTS):
            taken = await self._directory.taken_identities(order.principal) if order.identity is None else ()
            identity = choose_identity(order.identity, order.default_identity, taken)
            try:
                await self._directory.bind(claim, member, identity)
            except IdentityTaken as exc:
                if order.identity is not None:
                    raise await self._directory.identity_taken(identity, exc.thread, order.principal) from exc
            except NameOwned as exc:
                if order.identity is not None:
                    raise refusals.identity_taken(identity, None) from exc
            else:
                return
        raise refusals.identity_taken(member.agent.identity, None)
