"""Gives agents their turns, and records what came of each."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.base.errors import Refused
from codex_mcp.base.settings.team import TeamSettings
from codex_mcp.base.tasks import TaskSet
from codex_mcp.base.timestamps import format_timestamp
from codex_mcp.codex.core import TurnSpec
from codex_mcp.state.contract import Unavailable
from codex_mcp.team import limits, refusals
from codex_mcp.team.agent import Agent, Mailbox, RequestKey
from codex_mcp.team.limits import Paused
from codex_mcp.team.profile import context
from codex_mcp.team.records.agent_store import SUMMARY, TURN
from codex_mcp.team.records.audit_entry import AuditEntry, AuditOutcome, shown
from codex_mcp.team.records.store_session import StoreSession
from codex_mcp.team.roster import Member, Roster
from codex_mcp.threads.limits.account import Account
from codex_mcp.threads.observers import TurnListener
from codex_mcp.threads.questions.board import Receipt, State
from codex_mcp.threads.questions.decisions import is_approval
from codex_mcp.threads.questions.questions import Question
from codex_mcp.threads.record import Outcome as TurnOutcome
from codex_mcp.threads.record import Status
from codex_mcp.threads.thread import Thread
from codex_mcp.threads.turn import Audience, Turn
from codex_mcp.threads.turn_queue import QueueFull, QueueShut, Source

REVIEWS_KEPT: Final = 1_000
"""Threads of reviews that are remembered; an older one cannot be continued."""

OUTCOMES: Final = {
    Status.COMPLETED: AuditOutcome.OK,
    Status.FAILED: AuditOutcome.FAILED,
    Status.INTERRUPTED: AuditOutcome.INTERRUPTED,
    Status.RUNNING: AuditOutcome.RUNNING,
}

DescribeQuestion: TypeAlias = Callable[[Agent, Question], Mapping[str, object]]
"""An open question of an agent, as lists of open questions show it."""


class Assignment(Struct, frozen=True):
    spec: TurnSpec
    audience: Audience
    full_events: bool
    purpose: str
    """The event under which the audit lists it."""
    source: Source = Source.CALLER
    request: RequestKey | None = None


class Work(TurnListener):
    """The turns of this server's agents. Listens to all threads."""

    def __init__(
        self,
        settings: TeamSettings,
        roster: Roster,
        session: StoreSession,
        account: Account,
        describe_question: DescribeQuestion,
    ) -> None:
        self._settings = settings
        self._roster = roster
        self._session = session
        self._account = account
        self._describe_question = describe_question
        self._team_tokens = 0
        """As last counted, and what this server's turns have used since."""
        self._reviews: dict[str, Member | None] = {}
        """The threads of reviews, and the agents that they are for."""
        self._reviewed: Counter[str] = Counter()
        """Tokens of reviews for no agent by principal, which only this server counts."""
        self._counting: asyncio.Task[int] | None = None
        self._tasks = TaskSet()

    @property
    def has_team_limit(self) -> bool:
        return bool(self._settings.tokens_per_team)

    async def team_tokens(self) -> int:
        """What all agents of the team have used, those of other and earlier servers included; 0 without a limit."""
        if not self.has_team_limit or not self._session.is_open:
            return 0
        used = {
            agent.codex_id: agent.tokens
            for agent in await self._session.writer.agents()
            if agent.team == self._settings.team
        }
        used |= {member.agent.codex_id: member.agent.tokens for member in self._roster}  # maybe not stored yet
        self._team_tokens = sum(used.values()) + self._reviewed.total()
        return self._team_tokens

    def reviewed(self, principal: str) -> int:
        """The tokens that this principal's reviews for no agent have used."""
        return self._reviewed[principal]

    def pause(self, member: Member, team_tokens: int | None = None) -> Paused | None:
        """Why it may not have another turn now: because of its limits, or else of those of the account.

        Without `team_tokens`, what the team had used when it was counted last.
        """
        pause = member.spent.pause(self._settings, self._team_tokens if team_tokens is None else team_tokens)
        if pause is not None or member.thread is None:
            return pause
        why = self._account.why_not(member.thread, time.time())
        return Paused(why, self._account.paused_until, by="account") if why else None

    def warnings(self, member: Member) -> list[str]:
        """What a caller should know about the agent's limits before they pause it."""
        return member.spent.warnings(self._settings, self._team_tokens)

    def review_opened(self, thread: Thread, member: Member | None) -> None:
        """The tokens of this thread are this agent's, or the team's."""
        self._reviews[thread.id] = member
        if member is not None:
            member.review_opened(thread)
        if len(self._reviews) > REVIEWS_KEPT:
            del self._reviews[next(iter(self._reviews))]

    def is_review(self, thread_id: str) -> bool:
        return thread_id in self._reviews

    def _of(self, thread: Thread) -> Member | None:
        """The agent whose limits bind this thread."""
        return self._roster.of_thread(thread.id) or self._reviews.get(thread.id)

    async def check_review(self, member: Member | None) -> None:
        """Refuse a review, or a prompt after it, that the limits do not allow. Raises TeamRefused."""
        if member is None:
            await self.check_team()
        elif (pause := self.pause(member, await self.team_tokens())) is not None:
            raise refusals.paused(member.agent, pause.reason)

    async def check_team(self) -> None:
        """Refuse a new agent that could not have its first turn. Raises TeamRefused."""
        pause = limits.check(self._settings, limits.AgentUsage(), await self.team_tokens(), time.time())
        if pause is not None:
            raise refusals.team_paused(pause.reason)

    async def submit(self, member: Member, task: Assignment) -> Turn:
        """Give an agent a turn. Raises TeamRefused, Refused, Unavailable."""
        team_tokens = await self.team_tokens()
        # A caller's prompt that the account's limit stops fails, or waits, when its turn has come; mail stays unread.
        is_mail = task.source is Source.MAIL
        pause = self.pause(member, team_tokens) if is_mail else member.spent.pause(self._settings, team_tokens)
        if pause is not None:
            raise refusals.paused(member.agent, pause.reason)
        if task.request is not None:
            await self._write_request(member, task.request)
        try:
            turn = self._submit(member, task)
        except refusals.TeamRefused:
            if task.request is not None:
                member.drop_request(task.request)
                self._session.writer.note(member)
            raise
        if member.turn_submitted(turn, task.request, self._settings):
            await self._session.writer.flush()  # a caller that is told its id must find it, even if this server dies
        return turn

    async def _write_request(self, member: Member, request: RequestKey) -> None:
        """Write a request into the record before its turn begins, so that it never runs twice. Raises Unavailable."""
        member.remember_request(request)
        try:
            await self._session.writer.write(member)
        except BaseException as exc:
            member.drop_request(request)
            if isinstance(exc, Unavailable):
                raise Unavailable(f"The request_id cannot be kept, so the turn was not begun. {exc}") from exc
            raise

    def _submit(self, member: Member, task: Assignment) -> Turn:
        before, now = member.told, member.update_surroundings()
        changes = None if before is None else context.change_note(before, now)
        notes = member.next_turn.take()
        preface = "\n\n".join((*notes.prefaces, *([] if changes is None else [changes])))
        spec = replace(task.spec, preface=preface, time_limit=self._settings.turn_timeout or None)
        thread = member.thread
        if thread is None or member not in self._roster:
            raise refusals.closed(member.agent)
        try:
            turn = thread.submit(spec, task.audience, full_events=task.full_events, source=task.source)
        except (QueueFull, QueueShut, Refused) as exc:
            member.next_turn.give_back(notes)
            if isinstance(exc, Refused):
                raise
            if isinstance(exc, QueueShut):
                raise refusals.closed(member.agent) from exc
            raise refusals.queue_full(member.agent, exc.limit) from exc
        turn.set_purpose(task.purpose)
        turn.record.warn(notes.warnings)
        return turn

    def turn_submitted(self, thread: Thread, turn: Turn) -> None:
        member = self._roster.of_thread(thread.id)
        if member is not None:
            member.has_new_work()
            if turn.has_parted:  # a turn only now
                member.count_turn(turn, self._settings)
            turn.parked.on_change(partial(self._questions_changed, member, turn))
            self._session.writer.note(member)

    def why_not(self, thread: Thread, turn: Turn) -> str:
        """Told by threads when a turn is about to begin, and when what Codex began by itself has used tokens.

        Earlier turns may have used up the tokens while it waited. What runs counts with what it has used so far.
        """
        pause = limits.check_tokens(self._settings, *self._used_so_far(thread))
        return "" if pause is None else pause.reason

    def why_no_more(self, thread: Thread, ahead: int) -> str:
        """Told by threads: a goal must be paused before it begins a turn that the limits do not allow."""
        usage, team_tokens = self._used_so_far(thread, ahead)
        now = time.time()
        pause = limits.check(self._settings, limits.not_ahead(usage, now), team_tokens, now)
        return "" if pause is None else pause.reason

    def turn_begun_by_codex(self, thread: Thread) -> None:
        member = self._of(thread)
        if member is not None:
            member.count_turn(None, self._settings)
            self._session.writer.note(member)

    def tokens_counted(self, thread: Thread) -> None:
        """Told by threads: write what a turn has used so far. It stays counted, even if this server is killed."""
        member = self._of(thread)
        if member is not None:
            self._session.writer.note(member)
        if self.has_team_limit and (self._counting is None or self._counting.done()):
            # Agents of other servers use the team's tokens as well, while Codex begins turn after turn here.
            self._counting = self._tasks.spawn(self.team_tokens(), name="count of the team's tokens")

    def tokens_used(self, thread: Thread, tokens: int) -> None:
        """Told by threads: a turn that was stopped, or a sub-agent, has used tokens after its end was told."""
        member = self._of(thread)
        if member is not None and tokens:
            self._team_tokens += tokens
            member.count_tokens(tokens)
            self._session.writer.note(member)

    def _used_so_far(self, thread: Thread, ahead: int = 0) -> tuple[limits.AgentUsage, int]:
        """What the agent of this thread and the team have used, with the turns that run, and `ahead` tokens more."""
        member, team_tokens = self._of(thread), 0
        if self.has_team_limit:
            team_tokens = self._team_tokens + sum(each.running_tokens for each in self._roster) + ahead
        usage = limits.AgentUsage() if member is None else member.spent.usage
        return limits.with_tokens(usage, ahead + (0 if member is None else member.running_tokens)), team_tokens

    def turn_concluded(self, thread: Thread, turn: Turn) -> None:
        """Told by threads: count the turn, and write it into the record, the journal and the audit."""
        member = self._roster.of_thread(thread.id)
        if member is None:
            self._review_concluded(thread, turn)
            return
        outcome = turn.outcome
        if turn.joins is not None:  # it was counted and written with the turn that it has joined
            member.turn_concluded(turn, outcome, 0)
            self._session.writer.note(member)
            self._audit_turn(member, turn, OUTCOMES[outcome.status])
            return
        tokens = 0 if outcome.usage is None else outcome.usage.total_tokens
        member.turn_concluded(turn, outcome, tokens)
        self._team_tokens += tokens
        error = outcome.content if outcome.status is Status.FAILED else None
        is_summary = turn.purpose == SUMMARY
        if not is_summary:  # a summary is the server's own request, and does not count as use of the agent
            member.touch(last_error=None if error is None else shown(error))
        has_begun = turn.record.has_begun
        self._session.writer.note(
            member, _event(SUMMARY if is_summary else TURN, outcome, tokens) if has_begun else None
        )
        how = AuditOutcome.TIMED_OUT if turn.record.timed_out else OUTCOMES[outcome.status]
        self._audit_turn(member, turn, how, error=error, duration_ms=round(outcome.seconds * 1000), tokens=tokens)

    def _review_concluded(self, thread: Thread, turn: Turn) -> None:
        """Count what a review has used, for its agent or for the team."""
        usage, member = turn.outcome.usage, self._reviews.get(thread.id)
        if usage is None or turn.joins is not None or thread.id not in self._reviews:
            return
        self._team_tokens += usage.total_tokens
        if member is None:
            self._reviewed[thread.principal] += usage.total_tokens
        else:
            member.turn_concluded(turn, turn.outcome, usage.total_tokens)
            self._session.writer.note(member)

    def turn_goes_on(self, thread: Thread, turn: Turn) -> None:
        """Write a call into the audit that was answered before its turn has ended."""
        member = self._roster.of_thread(thread.id)
        if member is not None:
            self._audit_turn(member, turn, AuditOutcome.RUNNING)

    def turn_left(self, thread: Thread) -> None:
        """Told by threads: the agent may be idle now, which it was not when its turn was recorded."""
        member = self._roster.of_thread(thread.id)
        if member is not None:
            self._session.writer.note(member)

    def question_decided(self, thread: Thread, turn: Turn, receipt: Receipt) -> None:
        """Told by threads: write into the audit who has decided what an agent, a session or a review asked."""
        member = self._roster.of_thread(thread.id)
        agent = None if member is None else member.agent
        self._session.audit.append(
            AuditEntry(
                timestamp=format_timestamp(time.time()),
                event="approval",
                outcome=_outcome_of(receipt),
                request_id=turn.audience.label or None,
                codex_id=None if agent is None else agent.codex_id,
                thread_id=thread.id,
                identity=None if agent is None else agent.identity,
                team=self._settings.team,
                principal=thread.principal,
                what=receipt.word,
                by=receipt.by or None,
                via=receipt.via,
            )
        )

    def _questions_changed(self, member: Member, turn: Turn) -> None:
        """Write the open questions of an agent, so that all servers can list them."""
        codex_id = member.agent.codex_id
        questions = {
            f"{codex_id}/{key}": member.questions.now.get(f"{codex_id}/{key}") or self._encoded(member, question)
            for key, question in turn.parked.open.items()
        }
        member.questions.replace(questions)
        self._session.writer.note(member)
        self._session.writer.hurry()

    def _encoded(self, member: Member, question: Question) -> bytes:
        agent = member.agent
        described = self._describe_question(agent, question)
        now = format_timestamp(time.time())
        return msgspec.json.encode({**described, "team": agent.team, "principal": agent.principal, "asked_at": now})

    def _audit_turn(self, member: Member, turn: Turn, outcome: AuditOutcome, **details: Any) -> None:
        call = {"request_id": turn.audience.label or None, "what": turn.spec.prompt}
        self.audit(member.agent, turn.purpose, outcome, **call, **details)

    def audit(self, agent: Agent | Mailbox, event: str, outcome: AuditOutcome, **details: Any) -> None:
        """Add an entry about an agent to the audit; `details` are further fields of the entry."""
        entry = AuditEntry(
            timestamp=format_timestamp(time.time()),
            event=event,
            outcome=outcome,
            codex_id=agent.codex_id,
            thread_id=agent.thread_id,
            identity=agent.identity,
            team=agent.team,
            principal=agent.principal,
            **details,
        )
        self._session.audit.append(entry)

    async def aclose(self) -> None:
        await self._tasks.aclose()


def _outcome_of(receipt: Receipt) -> AuditOutcome:
    """How a question came to its end, as the audit counts it."""
    if receipt.state is State.EXPIRED:
        return AuditOutcome.TIMED_OUT
    if receipt.decision is None:  # withdrawn, or lost with Codex
        return AuditOutcome.INTERRUPTED
    return AuditOutcome.OK if is_approval(receipt.decision) else AuditOutcome.REFUSED


def _event(kind: str, outcome: TurnOutcome, tokens: int) -> dict[str, object]:
    seconds = round(outcome.seconds, 3)
    return {"event": kind, "outcome": outcome.status, "tokens": tokens, "seconds": seconds, "at": time.time()}
