"""Gives agents their turns, watches them, and writes down what came of each."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.base.errors import Refused
from codex_mcp.base.settings.team import TeamSettings
from codex_mcp.base.timestamps import format_timestamp
from codex_mcp.codex.core import TurnSpec
from codex_mcp.state.contract import Unavailable
from codex_mcp.team import limits, refusals
from codex_mcp.team.agent import Agent, RequestKey
from codex_mcp.team.limits import Paused
from codex_mcp.team.looking import look_around
from codex_mcp.team.member import Member
from codex_mcp.team.profile import context
from codex_mcp.team.records.agent_store import SUMMARY, TURN
from codex_mcp.team.records.audit_entry import AuditEntry, AuditOutcome, shown
from codex_mcp.team.records.store_session import StoreSession
from codex_mcp.team.roster import Roster
from codex_mcp.threads.questions.questions import Question
from codex_mcp.threads.record import Outcome as TurnOutcome
from codex_mcp.threads.record import Status
from codex_mcp.threads.thread import Thread
from codex_mcp.threads.turn import Audience, Turn
from codex_mcp.threads.turn_queue import QueueFull, QueueShut, Source

logger = logging.getLogger(__name__)

OUTCOMES: Final = {
    Status.COMPLETED: AuditOutcome.OK,
    Status.FAILED: AuditOutcome.FAILED,
    Status.INTERRUPTED: AuditOutcome.INTERRUPTED,
    Status.RUNNING: AuditOutcome.RUNNING,
}


class Assignment(Struct, frozen=True):
    """Something to do, for whom, and why."""

    spec: TurnSpec
    audience: Audience
    full_events: bool
    purpose: str
    """What the audit calls it."""
    source: Source = Source.CALLER
    request: RequestKey | None = None
    """The call that it comes from, if that may be repeated."""


class Work:
    """The turns of a team's agents."""

    def __init__(self, settings: TeamSettings, roster: Roster, store_session: StoreSession) -> None:
        self._settings = settings
        self._roster = roster
        self._session = store_session
        self.limits = self._limits = limits.limits_of(settings)
        self.described: Callable[[str, Agent, Question], Mapping[str, object]] = lambda name, agent, _question: {
            "id": name,
            "codex_id": agent.codex_id,
            "identity": agent.identity,
        }
        """How a question is put to those who look for it; whoever shows it to them says how."""

    @property
    def time_limit(self) -> float | None:
        """Seconds that a turn may run."""
        return self._settings.turn_timeout or None

    async def team_tokens(self) -> int:
        """What all agents of the team have used that are known, of other servers and of earlier ones as well."""
        if not self._limits.tokens_per_team or not self._session.is_open:
            return 0
        used = {
            agent.codex_id: agent.tokens
            for agent in await self._session.writer.agents()
            if agent.team == self._settings.team
        }
        used |= {member.agent.codex_id: member.agent.tokens for member in self._roster}  # which may not be written yet
        return sum(used.values())

    def pause(self, member: Member, team_tokens: int) -> Paused | None:
        """Why it may not have another turn, if it may not."""
        now = time.time()
        member.usage = limits.not_ahead(member.usage, now)
        return limits.check(self._limits, member.usage, team_tokens, now)

    async def check_team(self) -> None:
        """Refuse a new agent that could not have its first turn. Raises TeamRefused."""
        pause = limits.check(self._limits, limits.Usage(), await self.team_tokens(), time.time())
        if pause is not None:
            raise refusals.team_paused(pause.reason)

    async def submit(self, member: Member, task: Assignment) -> Turn:
        """Give an agent something to do. Raises TeamRefused."""
        pause = self.pause(member, await self.team_tokens())
        if pause is not None:
            raise refusals.paused(member.agent, pause.reason)
        if task.request is not None:
            await self._remember(member, task.request)
        turn = self._submit_next(member, task)
        turn.set_purpose(task.purpose)
        if member.first is None:
            member.first = turn
            await self._session.writer.flush()  # whoever is told its id must find it again, whatever happens to us
        return turn

    async def _remember(self, member: Member, request: RequestKey) -> None:
        """Write a request down before its turn begins, so that it never runs twice. Raises Unavailable."""
        member.remember(request)
        try:
            await self._session.writer.keep(member)
        except BaseException as exc:
            member.forget_request(request)
            if isinstance(exc, Unavailable):
                raise Unavailable(f"The request_id cannot be kept, so the turn was not begun. {exc}") from exc
            raise

    def _submit_next(self, member: Member, task: Assignment) -> Turn:
        try:
            turn = self._submitted(member, task)
        except refusals.TeamRefused:
            if task.request is not None:
                member.forget_request(task.request)
                self._session.writer.note(member)
            raise
        if task.request is not None:
            member.requested[task.request.id] = turn
        return turn

    def _submitted(self, member: Member, task: Assignment) -> Turn:
        note = self._what_changed(member)
        prefaces, member.prefaces = member.prefaces, []
        warnings, member.warnings = member.warnings, []
        told = replace(task.spec, preface="\n\n".join([*prefaces, *note]), time_limit=self.time_limit)
        thread = member.thread
        if thread is None or member not in self._roster:
            raise refusals.closed(member.agent)
        try:
            turn = thread.submit(told, task.audience, full_events=task.full_events, source=task.source)
        except (QueueFull, QueueShut, Refused) as exc:
            member.prefaces = prefaces + member.prefaces
            member.warnings = warnings + member.warnings
            if isinstance(exc, Refused):
                raise
            if isinstance(exc, QueueShut):
                raise refusals.closed(member.agent) from exc
            raise refusals.queue_full(member.agent, exc.limit) from exc
        turn.record.warn(warnings)
        member.usage = limits.with_turn(self._limits, member.usage, time.time())
        member.touch(turns=member.agent.turns + 1)
        return turn

    def _what_changed(self, member: Member) -> list[str]:
        """What the model must be told of its surroundings, if they are not what it knows."""
        before = member.told
        now = look_around(member)
        note = None if before is None else context.change_note(before, now)
        return [] if note is None else [note]

    # -- what threads tell --------------------------------------------------------------------------------------------

    def turn_submitted(self, thread: Thread, turn: Turn) -> None:
        """An agent is busy."""
        member = self._roster.of_thread(thread.id)
        if member is None:
            return
        member.summed_up = False
        turn.parked.on_change(partial(self._questions_changed, member, turn))
        self._session.writer.note(member)

    def turn_concluded(self, thread: Thread, turn: Turn) -> None:
        """A turn is over: add it up, and write it down."""
        member = self._roster.of_thread(thread.id)
        if member is None:
            return
        outcome = turn.outcome
        tokens = 0 if outcome.usage is None else outcome.usage.total_tokens
        member.usage = limits.with_tokens(member.usage, tokens)
        member.answered(turn)
        error = outcome.content if outcome.status is Status.FAILED else None
        is_summary = turn.purpose == SUMMARY
        if is_summary:  # which is the server's own wish: it costs tokens, and is nothing that the agent was used for
            member.change(tokens=member.agent.tokens + tokens)
        else:
            member.touch(tokens=member.agent.tokens + tokens, last_error=None if error is None else shown(error))
        self._session.writer.note(member, _event(SUMMARY if is_summary else TURN, outcome, tokens))
        self.audit(
            member.agent,
            turn.purpose,
            AuditOutcome.TIMED_OUT if turn.record.timed_out else OUTCOMES[outcome.status],
            request_id=turn.audience.label or None,
            what=turn.spec.prompt,
            error=error,
            duration_ms=round(outcome.seconds * 1000),
            tokens=tokens,
        )

    def turn_goes_on(self, thread: Thread, turn: Turn) -> None:
        """A call was answered before its turn has ended: what it asked for is in the audit, whatever happens next."""
        member = self._roster.of_thread(thread.id)
        if member is not None:
            self.audit(
                member.agent,
                turn.purpose,
                AuditOutcome.RUNNING,
                request_id=turn.audience.label or None,
                what=turn.spec.prompt,
            )

    def turn_left(self, thread: Thread) -> None:
        """An agent may be idle that was not when its turn was written down."""
        member = self._roster.of_thread(thread.id)
        if member is not None:
            self._session.writer.note(member)

    def question_decided(self, thread: Thread, turn: Turn, word: str) -> None:
        """A person, or whoever answers for one, has decided."""
        member = self._roster.of_thread(thread.id)
        if member is not None:
            outcome = AuditOutcome.OK if word.startswith("approved") else AuditOutcome.REFUSED
            self.audit(member.agent, "approval", outcome, request_id=turn.audience.label or None, what=word)

    def _questions_changed(self, member: Member, turn: Turn) -> None:
        """Let everybody on the state folder see what waits for an answer."""
        prefix = f"{member.agent.codex_id}/{turn.name}/"
        kept = {key: body for key, body in member.approvals.items() if not key.startswith(prefix)}
        for key, question in turn.parked.open.items():
            told = member.approvals.get(prefix + key)
            kept[prefix + key] = told or self._described(member, f"{turn.name}/{key}", question)
        member.approvals = kept
        self._session.writer.note(member)
        self._session.writer.hurry()

    def _described(self, member: Member, approval_id: str, question: Question) -> bytes:
        agent = member.agent
        told = self.described(approval_id, agent, question)
        return msgspec.json.encode(
            {**told, "team": agent.team, "principal": agent.principal, "asked_at": format_timestamp(time.time())}
        )

    def audit(self, agent: Agent, event: str, outcome: AuditOutcome, **details: Any) -> None:
        """Note an outcome; `details` are further fields of the entry."""
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


def _event(kind: str, outcome: TurnOutcome, tokens: int) -> dict[str, object]:
    seconds = round(outcome.seconds, 3)
    return {"event": kind, "outcome": outcome.status, "tokens": tokens, "seconds": seconds, "at": time.time()}
