"""Finds the agent that a call names, and resumes it if no server runs it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator

from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.base.blocking import in_thread
from codex_mcp.base.settings.team import TeamSettings
from codex_mcp.state.contract import Claim, IdentityTaken, NameOwned
from codex_mcp.team import refusals
from codex_mcp.team.agent import Agent, AgentStatus, abandoned
from codex_mcp.team.directory import Directory
from codex_mcp.team.limits import AgentUsage
from codex_mcp.team.member_threads import MemberThreads
from codex_mcp.team.profile.context import Surroundings
from codex_mcp.team.records.agent_store import read_turn_starts
from codex_mcp.team.records.store_session import StoreSession
from codex_mcp.team.records.summaries import as_preface, read_summary
from codex_mcp.team.roster import Member
from codex_mcp.team.workplaces import Workplaces

logger = logging.getLogger(__name__)


class ResumeFirst(Struct, frozen=True):
    """The agent that the first call continues: the one named here, or else the one used last."""

    reference: str | None = None
    identity: str | None = None
    """The identity that the one used last must have, if one was chosen."""


class Resuming:
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

    @contextlib.asynccontextmanager
    async def find(self, reference: str, principal: str, *, resume: bool) -> AsyncIterator[Member]:
        """The agent with this codex_id, identity or thread id, ready for a turn; a closed one only with `resume`.

        If the block fails, an agent that was resumed for it is inactive again.
        """
        await self._session.ready()
        member = self._roster.called(reference, principal)
        if member is None:
            agent = await self._directory.find(reference, principal)
            if agent.is_closed and not resume:
                raise refusals.closed(agent)
            # Another call may have resumed it meanwhile.
            member = self._roster.called(agent.codex_id, principal)
            if member is None:
                async with self._resume(agent) as member:
                    yield member
                return
        async with member.life:
            if member in self._roster:
                if member.thread is None or member.thread.idle:
                    await self._workplaces.restore(member)
                await self._threads.load(member)
                yield member
                return
        # It was being closed, or could not be started.
        async with self.find(member.agent.codex_id, principal, resume=resume) as member:
            yield member

    @contextlib.asynccontextmanager
    async def _resume(self, agent: Agent) -> AsyncIterator[Member]:
        await self._check_machine(agent)
        self._directory.check_capacity(agent.principal)
        member = Member(
            replace(agent, status=AgentStatus.ACTIVE, owner=self._session.owner),
            told=Surroundings(agent.repo_root, agent.repo_name, agent.branch, agent.cwd),
            summed_up=agent.status is AgentStatus.CLOSED,
            usage=AgentUsage(tokens=agent.tokens),
        )
        async with member.life:
            self._roster.add(member)  # at once, so that other calls for it wait for this one
            try:
                claim = await self._directory.claim(agent.codex_id)
            except BaseException:
                self._roster.remove(member)
                raise
            member.take_claim(claim)
            try:
                await self._rejoin(member, claim)
                yield member
            except BaseException:
                await asyncio.shield(self._undo(member, agent))
                raise

    async def _check_machine(self, agent: Agent) -> None:
        """Raise TeamRefused if no server runs it, and its files are on another machine."""
        store = self._session.store
        if store.spans_machines and agent.host != self._session.owner.host:
            owner = await store.leases.owner(agent.codex_id)
            if owner is None or not owner.alive:
                raise refusals.on_another_machine(agent)

    async def _undo(self, member: Member, before: Agent) -> None:
        thread = member.detach()
        member.restore(abandoned(before))
        self._roster.remove(member)
        await self._session.writer.finish(member)
        await self._threads.discard(thread)

    async def _rejoin(self, member: Member, claim: Claim) -> None:
        agent = member.agent
        try:
            await self._directory.bind(claim, member, agent.identity)
        except NameOwned as exc:
            raise refusals.identity_taken(agent.identity, None) from exc
        except IdentityTaken as exc:
            raise await self._directory.identity_taken(agent.identity, exc.thread, agent.principal) from exc
        summary = await in_thread(
            read_summary, self._settings.state_dir, agent.identity, agent.thread_id or agent.codex_id
        )
        if summary is None:
            logger.warning("agent %s is resumed without a summary: it has none", agent.identity)
        else:
            member.next_turn.add_preface(as_preface(summary))
        if self._settings.turns_per_hour:
            member.spent.recall_turns(self._settings, await read_turn_starts(self._session.store, agent.codex_id))
        await self._workplaces.make_again(member)
        await self._threads.load(member)
        member.touch()
        self._session.writer.note(member, {"event": "resumed"})


class FirstCall:
    """The first call for a new agent, which continues an earlier one if the server was started to resume."""

    def __init__(self, settings: TeamSettings, directory: Directory, resume: ResumeFirst | None) -> None:
        self._default_identity = settings.default_identity
        self._directory = directory
        self._resume = resume
        self._lock = asyncio.Lock()
        """Held by the first call. Those that come with it wait for its result."""

    @contextlib.asynccontextmanager
    async def around(self, identity: str | None, principal: str) -> AsyncIterator[str | None]:
        """Around a call for a new agent: the codex_id of the agent to resume instead, if this is the first call.

        A call that fails does not count: the next one is the first. Raises TeamRefused.
        """
        if not self._applies(identity):
            yield None
            return
        async with self._lock:
            yield await self._find_agent(identity, principal) if self._applies(identity) else None
            self._resume = None

    def _applies(self, identity: str | None) -> bool:
        return self._resume is not None and identity in (None, self._default_identity)

    async def _find_agent(self, identity: str | None, principal: str) -> str | None:
        resume = self._resume or ResumeFirst()
        if resume.reference is not None:
            try:
                return (await self._directory.find(resume.reference, principal)).codex_id
            except refusals.TeamRefused as exc:
                raise refusals.cannot_resume(resume.reference) from exc
        name = identity or resume.identity
        agent = await self._directory.last_used(name, principal)
        if agent is None:
            logger.warning("there is no agent%s to resume; a new one is started", f" called {name}" if name else "")
            return None
        return agent.codex_id
