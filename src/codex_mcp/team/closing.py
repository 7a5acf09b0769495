"""The end of an agent's service: what runs is stopped, everybody who waits is answered, its work summed up if it was
busy, its name freed.

    it is   what happens                                               status then
    ------  ---------------------------------------------------------  -------------------------------------
    idle    closed at once; at the end of the server it sums up first  closed
    busy    stopped, its queue answered, then asked for a summary      closed; interrupted without a summary
    closed  nothing                                                    as it is
    stale   its record is settled                                      closed
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.base.errors import Refused
from codex_mcp.base.logs import current_subject
from codex_mcp.base.settings.team import TeamSettings
from codex_mcp.codex.core import TurnSpec
from codex_mcp.codex.events.translator import Event
from codex_mcp.state.contract import Fenced, LeaseLost, OwnedBy, Unavailable
from codex_mcp.team import refusals
from codex_mcp.team.agent import Agent, AgentState, AgentStatus
from codex_mcp.team.member import Member
from codex_mcp.team.records.agent_store import SUMMARY, write_agent
from codex_mcp.team.records.audit_entry import AuditOutcome
from codex_mcp.team.records.pruning import prune_oldest
from codex_mcp.team.records.store_session import StoreSession
from codex_mcp.team.records.summaries import SUMMARY_PROMPT, write_summary
from codex_mcp.team.team import Team
from codex_mcp.team.work import Work
from codex_mcp.threads.questions.decisions import Decision, Denied
from codex_mcp.threads.questions.questions import Question
from codex_mcp.threads.record import Status as TurnStatus
from codex_mcp.threads.thread import Thread
from codex_mcp.threads.threads import Threads

logger = logging.getLogger(__name__)


LONGEST_GRACE: Final = 5.0
"""Seconds that running turns may go on when the server ends. Agents must be asked for their summaries within ten, and
stopping a turn takes time as well."""


class Close(StrEnum):
    """What a close came to."""

    CLOSED = "closed"
    INTERRUPTED = "interrupted"
    ALREADY_CLOSED = "already_closed"


class Closed(Struct, frozen=True):
    """An agent that is closed, and how that went."""

    agent: Agent
    how: Close


class Cause(Struct, frozen=True):
    """Why agents are closed, in the words of the audit."""

    event: str
    request_id: str | None = None


SHUTDOWN: Final = Cause("shutdown")
"""The server ends; then those who are idle sum up as well."""


class Nobody:
    """Watches the turn in which an agent sums up its work: nobody looks, and nobody can be asked."""

    label = ""

    def __init__(self) -> None:
        self.subject = current_subject()
        """Of the call that closes the agent, if there is one."""

    def event_happened(self, thread_id: str, event: Event) -> None:
        """Nobody sees it."""

    def activity_changed(self, activity: str) -> None:
        """Nobody sees it."""

    async def ask(self, question: Question) -> Decision:
        """No."""
        return Denied("the agent is being closed, and only asked for a summary")


class Closing:
    """Closes agents."""

    def __init__(
        self, settings: TeamSettings, threads: Threads, team: Team, work: Work, store_session: StoreSession
    ) -> None:
        self._settings = settings
        self._threads = threads
        self._team = team
        self._work = work
        self._session = store_session

    async def close(self, reference: str, principal: str, request_id: str | None = None) -> Closed:
        """Close an agent by codex_id, identity or thread id. Closing it again is fine. Raises TeamRefused."""
        cause = Cause("codex_close", request_id)
        await self._session.ready()
        member = self._team.roster.called(reference, principal)
        if member is not None:
            closed = await self._close_member(member, cause)
            await self._prune_oldest()
            return closed
        agent = await self._team.recorded(reference, principal)
        if agent is None:
            raise refusals.not_found(reference)
        if agent.is_closed:
            return self._audited(Closed(agent, Close.ALREADY_CLOSED), cause)
        return self._audited(await self._settle_stale(agent), cause)

    async def close_all(self) -> None:
        """Close every agent of this server, all at once. Cancelled: all that are left, without a summary."""
        if not self._session.is_open:
            return
        for member in self._team.roster:
            # Some clients kill us half a second after they have asked us to end: then this is what is true.
            member.change(status=AgentStatus.INTERRUPTED, owner=None)
            self._session.writer.note(member)
        self._session.writer.hurry()
        closing = [self._close_member(member, SHUTDOWN) for member in self._team.roster]
        try:
            await asyncio.gather(*closing, return_exceptions=True)
        finally:
            for member in self._team.roster:
                await self._leave(member, Close.INTERRUPTED, SHUTDOWN)
            await self._prune_oldest()

    async def _prune_oldest(self) -> None:
        """Keep the registry from growing for ever."""
        ours = {member.agent.codex_id for member in self._team.roster}
        try:
            if await prune_oldest(self._session.store, self._settings.state_dir, ours):
                await self._session.writer.flush()
        except (LeaseLost, Unavailable) as exc:
            logger.warning("cannot forget old agents: %s", exc)

    async def _close_member(self, member: Member, cause: Cause) -> Closed:
        was_busy = member.thread is not None and not member.thread.idle
        if member.thread is not None and not member.closing:
            member.thread.shut()  # before anything else, and before whoever else wants it
        member.closing = True
        async with member.life:
            if member not in self._team.roster:  # somebody else closed it while we waited
                agent = await self._team.recorded(member.agent.codex_id, member.agent.principal)
                return self._audited(Closed(agent or member.agent, Close.ALREADY_CLOSED), cause)
            if member.thread is not None:  # again: it may have been started while we waited
                was_busy = was_busy or not member.thread.idle
                member.thread.shut()
            how = Close.CLOSED
            if was_busy:
                await self._say_that_it_is_closing(member)
            try:
                if (was_busy or cause is SHUTDOWN) and not await self._summed_up(member):
                    how = Close.INTERRUPTED
            except asyncio.CancelledError:
                how = Close.INTERRUPTED
                raise
            finally:
                await self._leave(member, how, cause)
            return Closed(member.agent, how)

    async def _say_that_it_is_closing(self, member: Member) -> None:
        """Write it down before the summary is asked for: a server that dies meanwhile leaves it interrupted."""
        member.change(closing=True)
        with contextlib.suppress(Fenced, LeaseLost, Unavailable):  # of which whoever settles it hears as well
            await self._session.writer.keep(member)

    def _audited(self, closed: Closed, cause: Cause) -> Closed:
        outcome = AuditOutcome.INTERRUPTED if closed.how is Close.INTERRUPTED else AuditOutcome.OK
        self._work.audit(closed.agent, cause.event, outcome, request_id=cause.request_id, what=closed.how)
        return closed

    async def _leave(self, member: Member, how: Close, cause: Cause) -> None:
        """Write down its end, and let go of it. Until that is done whoever asks for it waits."""
        status = AgentStatus.CLOSED if how is Close.CLOSED else AgentStatus.INTERRUPTED
        changed = member.change if cause is SHUTDOWN else member.touch
        changed(status=status, owner=None, closing=False)
        self._audited(Closed(member.agent, how), cause)
        self._session.writer.note(member, {"event": "closed", "status": status})
        try:
            await self._session.writer.settle(member)
            if member.thread is not None:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self._threads.interrupt_grace):
                        await self._threads.unload(member.thread)
        finally:
            self._team.roster.remove(member)
            member.thread = None

    async def _summed_up(self, member: Member) -> bool:
        """Ask for a summary and keep it. True as well if there is nothing to sum up."""
        thread = member.thread
        if thread is None or self._threads.supervisor.pid is None:
            return member.summed_up
        if not await self._stopped(thread):
            logger.warning("agent %s cannot sum up its work: Codex does not stop its turn", member.agent.identity)
            return False
        if member.summed_up or self._settings.summary_timeout == 0:
            return True
        spec = TurnSpec(SUMMARY_PROMPT, time_limit=self._settings.summary_timeout, runs_commands=False)
        turn = thread.submit(spec, Nobody(), full_events=False, last=True)
        turn.mark_delivered()
        turn.set_purpose(SUMMARY)
        # Its own limit ends it; a core that does not even begin is not waited for much longer.
        outcome = await turn.wait(2 * self._settings.summary_timeout)
        if outcome.status is not TurnStatus.COMPLETED or not outcome.content.strip():
            logger.warning("agent %s has not summed up its work: %s", member.agent.identity, outcome.content)
            return False
        try:
            await asyncio.to_thread(
                write_summary, self._settings.state_dir, member.agent.identity, thread.id, outcome.content
            )
        except (OSError, Refused) as exc:
            logger.error("cannot keep the summary of agent %s: %s", member.agent.identity, exc)
            return False
        member.summed_up = True
        return True

    async def _stopped(self, thread: Thread) -> bool:
        """Wait for the end of what was stopped, and say whether it has come."""
        # A turn that runs is given up after one grace. One that a core which hangs was asked to begin keeps the thread
        # busy for much longer, though everybody has been told.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(2 * self._threads.interrupt_grace):
                await thread.until_idle()
        return thread.idle

    async def _settle_stale(self, agent: Agent) -> Closed:
        """Nobody runs it any longer: write down that it is closed."""
        claim = await self._session.store.leases.claim(agent.codex_id)
        if isinstance(claim, OwnedBy):
            raise refusals.owned_elsewhere(agent, claim.node)
        agent = replace(agent, status=AgentStatus.CLOSED, thread_state=AgentState.CLOSED, owner=None)
        await write_agent(self._session.store, claim, agent)
        await self._session.store.records.unbind(claim, agent.team, agent.identity)
        await self._session.store.leases.release(claim)
        await self._session.writer.flush()
        return Closed(agent, Close.CLOSED)
