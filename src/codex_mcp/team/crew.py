"""Everybody and everything that a team consists of on this server, put together."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator

from msgspec import Struct

from codex_mcp.base.settings.team import TeamSettings
from codex_mcp.base.tasks import TaskSet
from codex_mcp.base.timestamps import format_timestamp
from codex_mcp.state.contract import Claim
from codex_mcp.team import refusals
from codex_mcp.team.agent import Agent, AgentState, at_rest, last_used
from codex_mcp.team.closing import Closing
from codex_mcp.team.member import Member
from codex_mcp.team.records.audit_entry import AuditEntry, AuditOutcome
from codex_mcp.team.records.store_session import OpenStore, StoreSession
from codex_mcp.team.refusals import TeamRefused
from codex_mcp.team.repeats import Repeats
from codex_mcp.team.team import Team
from codex_mcp.team.work import Work
from codex_mcp.threads.thread import Thread
from codex_mcp.threads.threads import Threads

logger = logging.getLogger(__name__)


class Resume(Struct, frozen=True):
    """With whom the first call goes on: with this agent, or else with the one used last."""

    reference: str | None = None
    """Its codex_id, identity or thread id."""
    identity: str | None = None
    """The name that the one used last must have, if somebody chose one."""


class Crew:
    """One server's part of a team, which may have to resume an agent."""

    def __init__(
        self, settings: TeamSettings, threads: Threads, open_store: OpenStore, resume: Resume | None = None
    ) -> None:
        self._settings = settings
        self._threads = threads
        self._resume = resume
        self._resuming = asyncio.Lock()
        """Held by the first call: those that come with it wait for what comes of it."""
        self._began = time.monotonic()
        self.store_session = StoreSession(settings.state_dir, open_store)
        self.team = Team(settings, threads, self.store_session)
        self.roster = self.team.roster
        self.work = Work(settings, self.roster, self.store_session)
        self.repeats = Repeats(settings, self.roster, self.store_session)
        self.closing = Closing(settings, threads, self.team, self.work, self.store_session)
        threads.listen(self.work)
        self.roster.removed = lambda member: threads.changes.tell(member.agent.codex_id, member.thread_id or "")
        self.store_session.fenced = self._fenced
        self.store_session.lost = self._lost
        self.store_session.back = self._back
        self._tasks = TaskSet()

    @contextlib.asynccontextmanager
    async def first_call(self, identity: str | None, principal: str) -> AsyncIterator[str | None]:
        """Around a call for a new agent, if the server was told to resume: the agent to go on with.

        A call that fails does not count: the next one is the first. Raises TeamRefused.
        """
        if not self._resumes(identity):
            yield None
            return
        async with self._resuming:
            yield await self._resumed(identity, principal) if self._resumes(identity) else None
            self._resume = None

    def _resumes(self, identity: str | None) -> bool:
        return self._resume is not None and identity in (None, self._settings.default_identity)

    async def _resumed(self, identity: str | None, principal: str) -> str | None:
        resume = self._resume or Resume()
        if resume.reference is not None:
            await self.store_session.ready()
            named = await self.team.recorded(resume.reference, principal)
            if named is None:
                raise refusals.cannot_resume(resume.reference)
            return named.codex_id
        name = identity or resume.identity
        agent = await self._last_used(name, principal)
        if agent is None:
            logger.warning("there is no agent%s to resume; a new one is started", f" called {name}" if name else "")
            return None
        return agent.codex_id

    async def _last_used(self, identity: str | None, principal: str) -> Agent | None:
        agents = await self.agents(principal)
        bindings = await self.store_session.store.records.bindings(self._settings.team)
        return last_used(agents, {binding.identity for binding in bindings if binding.stands}, identity)

    async def agent(self, reference: str, principal: str) -> Agent:
        """An agent, whoever runs it. Raises TeamRefused."""
        await self.store_session.ready()
        agent = await self.team.recorded(reference, principal)
        if agent is None:
            raise refusals.not_found(reference)
        return agent

    async def agents(self, principal: str) -> list[Agent]:
        """All agents of this principal, ours as they are now, and those of dead servers as what they are."""
        await self.store_session.ready()
        ours = {member.agent.codex_id: member.record for member in self.roster}
        alive = {node.id for node in await self.store_session.store.leases.nodes() if node.alive}
        found: dict[str, Agent] = {}
        for agent in await self.store_session.writer.agents():
            if agent.is_active and (agent.owner is None or agent.owner.node not in alive):
                agent = at_rest(agent)
            found[agent.codex_id] = agent
        return [
            agent
            for agent in (found | ours).values()
            if agent.principal == principal and agent.team == self._settings.team
        ]

    async def status(self, principal: str) -> dict[str, object]:
        """How everything stands."""
        members = self.roster.of(principal)
        busy = sum(member.state is AgentState.BUSY for member in members)
        team_tokens = await self.work.team_tokens()
        return {
            "core": self._core(),
            "team": self._settings.team,
            "uptime_seconds": round(time.monotonic() - self._began, 3),
            "threads": {
                "active": len(members),
                "busy": busy,
                "idle": len(members) - busy,
                "limit": self._settings.max_concurrent_threads,
            },
            "identities": {member.agent.identity: member.agent.codex_id for member in members},
            "queues": {
                member.agent.identity: member.thread.waiting
                for member in members
                if member.thread is not None and member.thread.waiting
            },
            "paused": {
                member.agent.identity: pause.reason
                for member in members
                if (pause := self.work.pause(member, team_tokens)) is not None
            },
            "pending_mail": 0,
            "state": {"lease": self.store_session.lease, "trouble": self.store_session.trouble},
        }

    def _core(self) -> dict[str, object]:
        supervisor = self._threads.supervisor
        return {
            "alive": supervisor.pid is not None,
            "pid": supervisor.pid,
            "backend": supervisor.backend or None,
            "version": supervisor.version or None,
            "starts": supervisor.starts,
            "last_exit": supervisor.last_exit,
        }

    def note_call(
        self, tool: str, request_id: str, principal: str, outcome: AuditOutcome, error: Exception | None = None
    ) -> None:
        """Write down a call that led to no turn: it only looked, or it failed."""
        facts = error.facts if isinstance(error, TeamRefused) else {}
        self.store_session.audit.append(
            AuditEntry(
                timestamp=format_timestamp(time.time()),
                event=tool,
                outcome=outcome,
                request_id=request_id,
                codex_id=_text(facts.get("codex_id")),
                identity=_text(facts.get("identity")),
                team=self._settings.team,
                principal=principal,
                error=None if error is None else str(error),
            )
        )

    async def aclose(self) -> None:
        """Close every agent, and the store_session. Cancelled: they are closed without a summary."""
        try:
            await self.closing.close_all()
        finally:
            await self._tasks.aclose()
            await self.store_session.aclose()

    def _fenced(self, claim: Claim) -> None:
        member = next((member for member in self.roster if member.claim == claim), None)
        if member is not None:
            self._forget(member)

    def _lost(self) -> None:
        for member in self.roster:
            self._forget(member)

    def _back(self) -> None:
        """We were silent for long: each agent that is not ours any more refuses to be written."""
        for member in self.roster:
            self.store_session.writer.note(member)
        self.store_session.writer.hurry()

    def _forget(self, member: Member) -> None:
        """Another server runs it now: stop what it does here, and write nothing more about it."""
        why = str(refusals.lost(member.agent))
        logger.error("%s", why)
        member.claim = None
        self.roster.remove(member, taken_over=True)
        if member.thread is not None:
            for turn in member.thread.unfinished():
                turn.record.stop_because(why)
            member.thread.shut()
            self._tasks.spawn(self._let_go(member.thread), name=f"letting go of {member.agent.codex_id}")

    async def _let_go(self, thread: Thread) -> None:
        """Have our Codex unload it, so that theirs can have it."""
        await thread.until_idle()
        await self._threads.unload(thread)


def _text(fact: object) -> str | None:
    return fact if isinstance(fact, str) else None
