"""Closes agents: their turns are stopped, all waiting calls answered, their identities freed.

agent   what happens                                                  status afterwards
------  ------------------------------------------------------------  -------------------------------------
idle    closed at once; at the end of the server it sums up first     closed
busy    stopped, its waiting turns answered, then asked to sum up     closed; interrupted without a summary
closed  nothing                                                       unchanged
stale   its final record is written                                   closed
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.base.blocking import in_thread
from codex_mcp.base.errors import Refused
from codex_mcp.base.logs import current_subject
from codex_mcp.base.settings.team import TeamSettings
from codex_mcp.codex.core import Event, TurnSpec
from codex_mcp.git.worktree import Left
from codex_mcp.state.contract import Fenced, LeaseLost, Unavailable
from codex_mcp.team.agent import Agent, AgentState, AgentStatus
from codex_mcp.team.directory import Directory
from codex_mcp.team.records.agent_store import SUMMARY, finish_agent
from codex_mcp.team.records.audit_entry import AuditOutcome
from codex_mcp.team.records.pruning import prune_oldest
from codex_mcp.team.records.store_session import StoreSession
from codex_mcp.team.records.summaries import SUMMARY_PROMPT, write_summary
from codex_mcp.team.roster import Member
from codex_mcp.team.work import Work
from codex_mcp.team.workplaces import Workplaces
from codex_mcp.threads.questions.board import Answer, denied
from codex_mcp.threads.questions.questions import Question
from codex_mcp.threads.record import Status as TurnStatus
from codex_mcp.threads.thread import Thread
from codex_mcp.threads.threads import Threads
from codex_mcp.threads.turn import Turn

logger = logging.getLogger(__name__)

LONGEST_GRACE: Final = 5.0
"""Seconds that running turns may continue when the server ends. Agents must be asked for their summaries within ten
seconds, and stopping a turn takes time as well."""


class Close(StrEnum):
    CLOSED = "closed"
    INTERRUPTED = "interrupted"
    ALREADY_CLOSED = "already_closed"


class Closed(Struct, frozen=True):
    agent: Agent
    how: Close
    left: Left | None = None
    """What became of its worktree, if it has one."""


class Cause(Struct, frozen=True):
    event: str
    request_id: str | None = None


SHUTDOWN: Final = Cause("shutdown")
"""The server ends. Then idle agents sum up as well."""


class NoAudience:
    """The audience of a turn in which an agent sums up: it shows nothing, and denies every question."""

    label = ""

    def __init__(self) -> None:
        self.subject = current_subject()
        """Of the call that closes the agent, if there is one."""

    def event_happened(self, thread_id: str, event: Event) -> None:
        """Ignored."""

    def activity_changed(self, activity: str) -> None:
        """Ignored."""

    async def ask(self, question: Question, turn: Turn) -> Answer:
        return denied("the agent is being closed, and only asked for a summary")


class Closing:
    def __init__(
        self, settings: TeamSettings, threads: Threads, session: StoreSession, directory: Directory, work: Work
    ) -> None:
        self._settings = settings
        self._threads = threads
        self._session = session
        self._directory = directory
        self._roster = directory.roster
        self._work = work
        self._workplaces = Workplaces(settings.state_dir)

    async def close(
        self, reference: str, principal: str, request_id: str | None = None, event: str = "codex_close"
    ) -> Closed:
        """Close an agent by codex_id, identity or thread id; it may be closed already. Raises TeamRefused.

        `event` is the name under which the audit lists it.
        """
        cause = Cause(event, request_id)
        await self._session.ready()
        member = self._roster.called(reference, principal)
        if member is not None:
            closed = await self._close_member(member, cause)
            await self._prune_oldest()
            return closed
        agent = await self._directory.find(reference, principal)
        if agent.is_closed:
            return self._audited(Closed(agent, Close.ALREADY_CLOSED), cause)
        return self._audited(await self._close_stale(agent), cause)

    async def close_all(self) -> None:
        """Close all agents of this server at the same time. If cancelled, the rest are closed without a summary."""
        if not self._session.is_open:
            return
        for member in self._roster:
            # Some clients kill us half a second after they have asked us to end: then this must be in the record.
            member.change(status=AgentStatus.INTERRUPTED, owner=None)
            self._session.writer.note(member)
        self._session.writer.hurry()
        closing = [self._close_member(member, SHUTDOWN) for member in self._roster]
        try:
            await asyncio.gather(*closing, return_exceptions=True)
        finally:
            for member in self._roster:
                await self._leave(member, Close.INTERRUPTED, SHUTDOWN)
            await self._prune_oldest()

    async def _prune_oldest(self) -> None:
        ours = {member.agent.codex_id for member in self._roster}
        try:
            if await prune_oldest(self._session.store, self._settings.state_dir, ours):
                await self._session.writer.flush()
        except (LeaseLost, Unavailable) as exc:
            logger.warning("cannot delete old agents: %s", exc)

    async def _close_member(self, member: Member, cause: Cause) -> Closed:
        was_busy = member.begin_closing()  # before another call gets hold of it
        async with member.life:
            if member not in self._roster:  # another call has closed it meanwhile
                agent = await self._directory.find_record(member.agent.codex_id, member.agent.principal)
                return self._audited(Closed(agent or member.agent, Close.ALREADY_CLOSED), cause)
            if member.thread is not None:  # again: it may have been started meanwhile
                was_busy = was_busy or not member.thread.idle
                member.thread.shut()
                await member.thread.own.quiesce()
            await member.stop_reviews()
            how, left = Close.CLOSED, None
            if was_busy:
                await self._write_closing(member)
            try:
                if (was_busy or cause is SHUTDOWN) and not await self._sum_up(member):
                    how = Close.INTERRUPTED
                left = await self._clear_away(member, cause)
            except asyncio.CancelledError:
                how = Close.INTERRUPTED
                raise
            finally:
                await self._leave(member, how, cause)
            return Closed(member.agent, how, left)

    async def _clear_away(self, member: Member, cause: Cause) -> Left | None:
        """Remove its worktree, once nothing runs in it. One that the end of the server leaves is there for a resume."""
        if cause is SHUTDOWN or member.agent.worktree is None:
            return None
        if member.thread is not None:
            await self._unload(member.thread)
        return await self._workplaces.close(member.agent, self._working_there(member.agent))

    def _working_there(self, agent: Agent) -> list[str]:
        """The other agents in its worktree: copies of it, or such as were given that folder."""
        others = [other.agent for other in self._roster.of(agent.principal) if other.agent.codex_id != agent.codex_id]
        return [other.identity for other in others if f"{other.cwd}/".startswith(f"{agent.worktree}/")]

    async def _unload(self, thread: Thread) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._threads.interrupt_grace):
                await self._threads.unload(thread)

    async def _write_closing(self, member: Member) -> None:
        """Record the close before the summary is asked for: if this server dies meanwhile, the agent is interrupted."""
        member.change(closing=True)
        with contextlib.suppress(Fenced, LeaseLost, Unavailable):  # the final record meets the same trouble
            await self._session.writer.write(member)

    def _audited(self, closed: Closed, cause: Cause) -> Closed:
        outcome = AuditOutcome.INTERRUPTED if closed.how is Close.INTERRUPTED else AuditOutcome.OK
        self._work.audit(closed.agent, cause.event, outcome, request_id=cause.request_id, what=closed.how)
        return closed

    async def _leave(self, member: Member, how: Close, cause: Cause) -> None:
        """Write the agent's final record and remove it. Calls for it wait until that is done."""
        status = AgentStatus.CLOSED if how is Close.CLOSED else AgentStatus.INTERRUPTED
        changed = member.change if cause is SHUTDOWN else member.touch
        changed(status=status, owner=None, closing=False)
        self._audited(Closed(member.agent, how), cause)
        self._session.writer.note(member, {"event": "closed", "status": status})
        try:
            await self._session.writer.finish(member)
            if member.thread is not None:
                await self._unload(member.thread)
        finally:
            self._roster.remove(member)
            member.detach()

    async def _sum_up(self, member: Member) -> bool:
        """Ask for a summary and write it. Returns whether the agent's last summary is up to date."""
        thread = member.thread
        if thread is None or self._threads.supervisor.pid is None:
            return member.summed_up
        if not await self._stop(thread):
            logger.warning("agent %s cannot sum up its work: Codex does not stop its turn", member.agent.identity)
            return False
        if member.summed_up or self._settings.summary_timeout == 0:
            return True
        spec = TurnSpec(SUMMARY_PROMPT, time_limit=self._settings.summary_timeout, runs_commands=False)
        turn = thread.submit(spec, NoAudience(), full_events=False, last=True)
        turn.mark_delivered()
        turn.set_purpose(SUMMARY)
        # Its own limit ends it; a core that does not even begin is not waited for much longer.
        outcome = await turn.wait(2 * self._settings.summary_timeout)
        if outcome.status is not TurnStatus.COMPLETED or not outcome.content.strip():
            logger.warning("agent %s has not summed up its work: %s", member.agent.identity, outcome.content)
            return False
        try:
            await in_thread(write_summary, self._settings.state_dir, member.agent.identity, thread.id, outcome.content)
        except (OSError, Refused) as exc:
            logger.error("cannot write the summary of agent %s: %s", member.agent.identity, exc)
            return False
        member.has_summed_up()
        return True

    async def _stop(self, thread: Thread) -> bool:
        # A running turn is given up after one grace period. A turn that a hanging core was asked to begin keeps the
        # thread busy for much longer, although its caller was answered.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(2 * self._threads.interrupt_grace):
                await thread.until_idle()
        return thread.idle

    async def _close_stale(self, agent: Agent) -> Closed:
        claim = await self._directory.claim(agent.codex_id)
        left = await self._workplaces.close(agent, self._working_there(agent))
        agent = replace(agent, status=AgentStatus.CLOSED, thread_state=AgentState.CLOSED, owner=None)
        await finish_agent(self._session.store, claim, agent)
        await self._session.writer.flush()
        return Closed(agent, Close.CLOSED, left)
