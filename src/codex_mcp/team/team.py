"""One server's part of a team: puts its parts together, and answers questions about the whole.

Only the store decides who may write about an agent (`state.contract`): this server owns an agent from the claim to the
final record, and never touches one that another living server owns.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from codex_mcp.access.cluster import Cluster
from codex_mcp.base.errors import Explained, Refused
from codex_mcp.base.settings.team import TeamSettings
from codex_mcp.base.tasks import TaskSet
from codex_mcp.base.timestamps import format_timestamp
from codex_mcp.state.contract import Claim
from codex_mcp.team import refusals
from codex_mcp.team.agent import AgentState, Owner
from codex_mcp.team.closing import Closing
from codex_mcp.team.directory import Directory
from codex_mcp.team.mail.arrivals import Arrivals
from codex_mcp.team.mail.counts import MailCounts
from codex_mcp.team.mail.deliveries import DeliveryParts
from codex_mcp.team.mail.inbox_watch import InboxWatch
from codex_mcp.team.mail.injection import Injection
from codex_mcp.team.mail.team_mail import MailPlace, TeamMail
from codex_mcp.team.member_threads import MemberThreads
from codex_mcp.team.records.audit_entry import AuditEntry, AuditOutcome
from codex_mcp.team.records.store_session import OpenStore, StoreSession
from codex_mcp.team.refusals import TeamRefused
from codex_mcp.team.requests import Requests
from codex_mcp.team.resuming import FirstCall, ResumeFirst, Resuming
from codex_mcp.team.roster import Member, Roster
from codex_mcp.team.starting import Starting
from codex_mcp.team.work import DescribeQuestion, Work
from codex_mcp.team.workplaces import Workplaces
from codex_mcp.threads.limits.rate_limits import described
from codex_mcp.threads.threads import Threads

if TYPE_CHECKING:
    from codex_mcp.wire.control import ActsFor  # of the control socket, which is made later

logger = logging.getLogger(__name__)


class TeamSetup(Struct, frozen=True):
    open_store: OpenStore
    describe_question: DescribeQuestion
    mail: MailPlace
    resume: ResumeFirst | None = None
    agent_tools: tuple[Mapping[str, object], ...] = ()
    """Tools of the agents themselves, as the app-server spells them."""
    approval_timeout: float = 600.0
    """Seconds after which a question in a turn that mail began is denied."""
    joined: Callable[[Owner], None] = lambda _: None
    """Told which node of the store this server is, each time that it has joined."""
    cluster: Cluster | None = None
    """The servers of other machines with which this one answers calls."""


class TeamMeasure(Struct, frozen=True):
    """What a server's own agents do at one moment, and what became of their mail."""

    team: str
    busy: int
    idle: int
    queued: int
    """Prompts that wait for an agent."""
    questions: int
    tokens: int
    """Used by the agents that run here."""
    mail: MailCounts


class Team:
    def __init__(self, settings: TeamSettings, threads: Threads, setup: TeamSetup) -> None:
        self._settings = settings
        self._threads = threads
        self._began = time.monotonic()
        self._joined = setup.joined
        self._tasks = TaskSet()
        self.cluster = setup.cluster
        address = "" if setup.cluster is None else setup.cluster.address
        self.session = session = StoreSession(settings.state_dir, setup.open_store, self, address)
        self.roster = roster = Roster(self._member_removed)
        self.directory = directory = Directory(settings, roster, session, lambda team: self.mail.configured_lead(team))
        self._member_threads = member_threads = MemberThreads(threads, session, setup.agent_tools)
        workplaces = Workplaces(settings.state_dir)
        self.starting = Starting(settings, session, directory, member_threads, workplaces)
        self.resuming = Resuming(settings, session, directory, member_threads, workplaces)
        self.first_call = FirstCall(settings, directory, setup.resume)
        self.work = Work(settings, roster, session, threads.account, setup.describe_question)
        self.requests = Requests(directory, session)
        self.mail = TeamMail(
            settings, setup.mail, session, directory, lambda member: self.injection.schedule.look(member)
        )
        self.closing = Closing(settings, threads, session, directory, self.work)
        watch = InboxWatch(self.mail, settings.mail_poll_interval_ms / 1000)
        self.arrivals = Arrivals(self.mail, watch, settings.lead_identity)
        parts = DeliveryParts(self.mail, self.work, member_threads, self.closing, self.arrivals, setup.approval_timeout)
        self.injection = Injection(settings, parts, watch)
        threads.listen(self.work)
        threads.listen(self.injection)

    @property
    def state_dir(self) -> str:
        return self._settings.state_dir

    def switch_mail(self, member: Member, *, on: bool) -> None:
        """Give an agent its mail as prompts from now on, or not any longer. Raises Refused."""
        if on and not self._settings.auto_mail:
            raise Refused("`auto_mail` cannot be switched on for an agent: it is off for this server (auto_mail).")
        member.change(auto_mail=on)
        self.mail.session_team.agents_changed()

    async def status(self, principal: str) -> dict[str, object]:
        members = self.roster.of(principal)
        busy = sum(member.state is AgentState.BUSY for member in members)
        team_tokens = await self.work.team_tokens()
        pauses = {member.agent.identity: self.work.pause(member, team_tokens) for member in members}
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
            "busy": [member.agent.identity for member in members if member.state is AgentState.BUSY],
            "queues": {
                member.agent.identity: member.thread.waiting
                for member in members
                if member.thread is not None and member.thread.waiting
            },
            **_own_work(members),
            "paused": {name: pause.reason for name, pause in pauses.items() if pause is not None},
            "paused_until": {name: pause.until for name, pause in pauses.items() if pause is not None and pause.until},
            "usage": await self._usage(principal),
            "rate_limits": described(self._threads.account.rate_limits),
            "account_limited": self._threads.account.is_limited,
            "account_paused_until": self._threads.account.paused_until,
            **await self._mail_of(members),
            "mail": self.injection.counts.of(principal),
            "state": {"lease": self.session.lease, "trouble": self.session.trouble},
        }

    def measured(self) -> TeamMeasure:
        """For the metrics of the server: its agents, whoever's they are."""
        members = list(self.roster)
        threads = [member.thread for member in members if member.thread is not None]
        states = Counter(member.state for member in members)
        return TeamMeasure(
            team=self._settings.team,
            busy=states[AgentState.BUSY],
            idle=states[AgentState.IDLE],
            queued=sum(thread.waiting for thread in threads),
            questions=sum(thread.asking for thread in threads),
            tokens=sum(member.record.tokens for member in members),
            mail=self.injection.counts,
        )

    async def _usage(self, principal: str) -> dict[str, object]:
        """What agents, closed ones included, and reviews have used; without the store, only agents that run here."""
        try:
            agents = await self.directory.agents(principal)
        except Explained as exc:
            logger.warning("cannot count what closed agents have used: %s", exc)
            agents = [member.record for member in self.roster.of(principal)]
        cost = sum(agent.cost for agent in agents)
        tokens = sum(agent.tokens for agent in agents) + self.work.reviewed(principal)
        return {"tokens": tokens, **({"cost": round(cost, 6)} if cost else {})}

    async def _mail_of(self, members: Sequence[Member]) -> dict[str, object]:
        """The unread messages of these agents, and those among them that are held back; None if they are not known."""
        try:
            pending = {member: await self.mail.pending(member.mailbox) for member in members}
            held = {member: await self.injection.held(member) for member, count in pending.items() if count}
        except Explained as exc:
            logger.warning("cannot count the mail: %s", exc)
            return {"pending_mail": None}
        held_mail = {member.agent.identity: len(found) for member, found in held.items() if found}
        return {"pending_mail": sum(pending.values()), **({"held_mail": held_mail} if held_mail else {})}

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
        """Add a call to the audit that led to no turn: it only read something, or it failed."""
        facts = error.facts if isinstance(error, TeamRefused) else {}
        self.session.audit.append(
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

    def note_person(self, tool: str, about: str, acts_for: ActsFor) -> None:
        """Add to the audit that a person has this tool called through the control socket; its own entry follows."""
        entry = AuditEntry(
            timestamp=format_timestamp(time.time()),
            event="control",
            outcome=AuditOutcome.OK,
            codex_id=about or None,
            team=self._settings.team,
            principal=acts_for.principal,
            what=tool,
            by=acts_for.person or None,
            via=acts_for.via or None,
        )
        self.session.audit.append(entry)

    def note_refused(self, why: str) -> None:
        """Add a refused connection to the audit."""
        now = format_timestamp(time.time())
        entry = AuditEntry(
            timestamp=now, event="connection", outcome=AuditOutcome.REFUSED, team=self._settings.team, error=why
        )
        self.session.audit.append(entry)

    async def aclose(self) -> None:
        """Close every agent, and the session. If cancelled, the rest are closed without a summary."""
        try:
            await asyncio.gather(self.mail.leave(), self.closing.close_all())
        finally:
            await self._tasks.aclose()
            await self.work.aclose()
            await self.injection.aclose()
            await self.mail.aclose()
            await self.session.aclose()

    def joined(self, owner: Owner) -> None:
        self._joined(owner)

    def agent_taken_over(self, claim: Claim) -> None:
        member = next((member for member in self.roster if member.claim == claim), None)
        if member is not None:
            self._let_go(member)

    def all_taken_over(self) -> None:
        for member in self.roster:
            self._let_go(member)

    def lease_renewed_late(self) -> None:
        """Told by the session: write every record, which fails for each agent that is not ours any longer."""
        for member in self.roster:
            self.session.writer.note(member)
        self.session.writer.hurry()

    def stand_still(self) -> None:
        self._threads.supervisor.still.begin()

    async def go_on(self) -> None:
        await self._threads.supervisor.still.go_on()

    async def end_still(self) -> None:
        await self._threads.supervisor.still.end()

    def _member_removed(self, member: Member) -> None:
        self._threads.changes.tell(member.agent.codex_id, member.thread_id or "")
        self.mail.session_team.agents_changed()

    def _let_go(self, member: Member) -> None:
        """Stop an agent that another server runs now, and write nothing more about it."""
        why = str(refusals.lost(member.agent))
        logger.error("%s", why)
        member.give_up_claim()
        self.roster.remove(member, taken_over=True)
        if member.thread is not None:
            for turn in member.thread.unfinished():
                turn.record.stop_because(why)
            member.thread.shut()
            self._tasks.spawn(self._member_threads.let_go(member.thread), name=f"letting go of {member.agent.codex_id}")


def _text(fact: object) -> str | None:
    return fact if isinstance(fact, str) else None


def _own_work(members: Sequence[Member]) -> dict[str, object]:
    """The goals and sub-agents of agents, by identity."""
    own = {member.agent.identity: member.thread.own.described() for member in members if member.thread is not None}
    return {
        field: {identity: each[name] for identity, each in own.items() if name in each}
        for field, name in (("goals", "goal"), ("subagents", "subagents"))
    }
