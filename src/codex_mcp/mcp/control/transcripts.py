"""`control/steps`: the turns of a thread of this server, the steps of one of them, and what is known around them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.base.blocking import in_thread
from codex_mcp.base.errors import Explained
from codex_mcp.base.printable import foreign
from codex_mcp.base.secrets.redact import redact
from codex_mcp.control.steps import SHORT, WHOLE, step_of
from codex_mcp.mcp.control.inside import Inside
from codex_mcp.mcp.resources.history import ThreadHistory, Turns
from codex_mcp.mcp.schema.review import findings_in
from codex_mcp.rpc.errors import invalid_params, request_failed
from codex_mcp.team.roster import Member
from codex_mcp.threads.thread import Thread
from codex_mcp.threads.turn import Turn
from codex_mcp.threads.turn_queue import TurnQueueState
from codex_mcp.wire.app import items
from codex_mcp.wire.app.history import StoredTurn, read_items
from codex_mcp.wire.app.notifications import PlanUpdated, UsageUpdated
from codex_mcp.wire.control_thread import (
    Finding,
    HelperRow,
    ListSteps,
    Plan,
    PlanStep,
    ReviewTold,
    Setup,
    Step,
    Steps,
    TurnRow,
    Usage,
    Waiting,
)
from codex_mcp.wire.jsonrpc import INTERNAL_ERROR, Request

READ_AHEAD: Final = 8 * 1024 * 1024
"""Bytes of the history that are read for one answer."""

READS_AT_ONCE: Final = 2
"""Of one connection."""

MOST_TURNS: Final = 500
MOST_STEPS: Final = 400
LONGEST: Final = 300
"""Characters of a prompt or an error in a row."""

LONGEST_REVIEW: Final = 16 * 1024

RUNNING: Final = "inProgress"

LIMITS: Final = ("tokens_per_thread", "tokens_per_team", "turns_per_hour")


class Found(Struct, frozen=True):
    """A thread that is asked about. One of them may be missing."""

    thread_id: str
    thread: Thread | None
    member: Member | None


class Transcripts:
    def __init__(self, inside: Inside, may_see: Callable[[str], bool]) -> None:
        """`may_see` tells whether a principal's threads may be seen."""
        self._inside = inside
        self._may_see = may_see
        self._history = ThreadHistory(inside.threads, "", READ_AHEAD)
        self._reading = asyncio.Semaphore(READS_AT_ONCE)

    def find(self, name: str) -> Found:
        """By its id, or by a name of its agent. Raises RequestFailed, the same for that of another principal."""
        for member in self._inside.team.roster:
            agent = member.agent
            if name in (agent.codex_id, agent.identity, member.thread_id) and self._may_see(agent.principal):
                return Found(member.thread_id or agent.codex_id, member.thread, member)
        thread = self._inside.threads.open_thread(name)
        if thread is None or not self._may_see(thread.principal):
            raise invalid_params(f"this server runs no agent {foreign(name, 100)}")
        return Found(thread.id, thread, None)

    async def steps(self, request: Request) -> object:
        asked = msgspec.json.decode(request.params, type=ListSteps)
        found = self.find(asked.thread)
        async with self._reading:
            kept = await self._read_kept(found)
        told = await in_thread(_told, found.thread_id, kept, asked)
        return self._with_state(told, found, asked)

    async def _read_kept(self, found: Found) -> Turns:
        if found.member is not None and found.member.agent.thread_id is None and found.thread is None:
            return Turns([], is_cut=False)  # it is being started
        try:
            return await self._history.turns(await self._history.thread(found.thread_id))
        except Explained as exc:
            why = f"cannot read the conversation: {foreign(str(exc))}"
            raise request_failed(INTERNAL_ERROR, why) from exc

    def _with_state(self, told: Steps, found: Found, asked: ListSteps) -> Steps:
        """The same with what only a running server knows."""
        thread, member = found.thread, found.member
        setup = self._setup(found)
        if thread is None:
            return replace(told, setup=setup)
        turns = {turn.place.turn_id: turn for turn in thread.turns if turn.place.turn_id}
        rows = [replace(row, by=str(turns[row.id].place.source)) if row.id in turns else row for row in told.turns]
        current = thread.current
        is_current = current is not None and current.place.turn_id == told.turn and asked.before is None
        running = _running_steps(thread, current, told) if current is not None and is_current else []
        newest = current or thread.newest
        own = thread.own.described()
        return replace(
            told,
            turns=rows,
            steps=[*told.steps, *running],
            setup=setup,
            usage=usage_of(thread.translator.usage),
            turn_usage=None if newest is None else _turn_usage(newest),
            plan=plan_of(thread.translator.plan),
            queue=_queue(thread),
            reviews=[] if member is None else [_review(each) for each in member.reviews],
            helpers=_helpers(own.get("subagents")),
            goal=_goal(own.get("goal")),
        )

    def _setup(self, found: Found) -> Setup:
        settings, thread = self._inside.settings, found.thread
        spec = thread.spec if thread is not None else found.member.agent.spec if found.member is not None else None
        limits = [f"{value} {name}" for name in LIMITS if (value := getattr(settings, name))]
        if spec is None:
            return Setup(limits=limits)
        opened = None if thread is None else thread.opened.answer
        sandbox = spec.sandbox or (opened.sandbox.type if opened is not None and opened.sandbox is not None else "")
        approval = spec.approval_policy or (opened.approval_policy if opened is not None else "")
        return Setup(
            model=spec.model or (opened.model if opened is not None else ""),
            effort=(opened.reasoning_effort or "") if opened is not None else "",
            sandbox=sandbox,
            approval=approval if isinstance(approval, str) else "",
            environment=spec.environment or "",
            copy_of="" if spec.fork is None else spec.fork.thread_id,
            limits=limits,
        )


def _told(thread_id: str, kept: Turns, asked: ListSteps) -> Steps:
    rows = [_row(turn) for turn in kept.turns[-MOST_TURNS:]]
    is_cut = kept.is_cut or len(rows) < len(kept.turns)
    chosen = asked.turn or (rows[-1].id if rows else "")
    turn = next((each for each in kept.turns if each.id == chosen), None)
    if turn is None:
        return Steps(thread=thread_id, turns=rows, is_cut=is_cut)
    ended = read_items(turn)
    until = len(ended) if asked.before is None else max(0, min(asked.before, len(ended)))
    first = max(0, until - max(1, min(asked.limit, MOST_STEPS)))
    room = WHOLE if asked.whole else SHORT
    steps = [replace(step_of(item, room), n=n) for n, item in enumerate(ended[first:until], first)]
    return Steps(thread=thread_id, turns=rows, is_cut=is_cut, turn=turn.id, steps=steps, first=first, total=len(ended))


def _row(turn: StoredTurn) -> TurnRow:
    known = read_items(turn)
    asked = next((item for item in known if isinstance(item, items.UserMessage)), None)
    prompt = "" if asked is None else step_of(asked).text
    return TurnRow(
        id=turn.id,
        status=turn.status,
        asked=prompt[:LONGEST],
        by="" if asked is not None else "codex",
        steps=len(known),
        started_at=turn.started_at,
        seconds=None if turn.duration_ms is None else turn.duration_ms / 1000,
        error="" if turn.error is None else redact(turn.error.message[:LONGEST]),
    )


def _running_steps(thread: Thread, turn: Turn, told: Steps) -> list[Step]:
    """Those that have begun, with the message that is being written."""
    known = {step.id for step in told.steps}
    found = {each.id: step_of(each, ended=False) for each in thread.translator.running_items() if each.id not in known}
    item, text = turn.record.unfinished
    if item and text and item not in known:
        found[item] = step_of(items.AgentMessage(item, text=text), ended=False)
    return list(found.values())


def _turn_usage(turn: Turn) -> Usage | None:
    used = turn.outcome.usage
    if used is None:
        return None
    return Usage(input=used.input_tokens, cached=used.cached_input_tokens, output=used.output_tokens)


def usage_of(note: UsageUpdated | None) -> Usage | None:
    if note is None:
        return None
    total, last, window = note.token_usage.total, note.token_usage.last, note.token_usage.model_context_window
    return Usage(
        input=total.input_tokens,
        cached=total.cached_input_tokens,
        output=total.output_tokens,
        total=total.total_tokens,
        context=last.total_tokens,
        window=window if isinstance(window, int) else None,
    )


def plan_of(note: PlanUpdated | None) -> Plan:
    return Plan() if note is None else Plan([PlanStep(redact(each.step[:LONGEST]), each.status) for each in note.plan])


def _queue(thread: Thread) -> list[Waiting]:
    waiting = [
        turn for turn in thread.unfinished() if turn.place.state in (TurnQueueState.WAITING, TurnQueueState.JOINING)
    ]
    return [Waiting(redact(turn.spec.prompt[:LONGEST]), str(turn.place.source)) for turn in waiting]


def _review(thread: Thread) -> ReviewTold:
    if thread.newest is None:
        return ReviewTold(thread=thread.id, status="running")
    outcome = thread.newest.outcome
    found = findings_in(outcome.content) if thread.newest.ended else None
    return ReviewTold(
        thread=thread.id,
        status=str(outcome.status),
        content=redact(outcome.content[:LONGEST_REVIEW]),
        findings=[_finding(each) for each in found or ()],
    )


def _finding(found: Mapping[str, object]) -> Finding:
    lines, priority = found.get("lines"), found.get("priority")
    first, last = lines if isinstance(lines, list | tuple) and len(lines) == 2 else (0, 0)
    return Finding(
        title=redact(str(found.get("title"))[:LONGEST]),
        body=redact(str(found.get("text"))[:LONGEST_REVIEW]),
        file=redact(str(found.get("file"))[:LONGEST]),
        first=first,
        last=last,
        priority=priority if isinstance(priority, int) else None,
    )


def _helpers(described: object) -> Sequence[HelperRow]:
    rows = described if isinstance(described, list) else []
    return [
        HelperRow(thread=str(each["threadId"]), name=str(each["name"]), state=str(each["state"]), tokens=each["tokens"])
        for each in rows
    ]


def _goal(described: object) -> str:
    if not isinstance(described, dict):
        return ""
    return f"{described.get('status')}: {described.get('objective')}"
