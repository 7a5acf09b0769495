"""What Codex does by itself in one thread and its sub-agents: seen, counted, limited and stopped."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final, Protocol

import msgspec
from msgspec.structs import replace

from codex_mcp.base.tasks import TaskSet
from codex_mcp.codex.config.overrides import GOALS
from codex_mcp.codex.conversation.goals import ACTIVE, nickname, order_goal
from codex_mcp.codex.core import Core, CoreError, GoalOrder, ThreadSpec, TurnSpec, When
from codex_mcp.codex.facts import (
    ApprovalReviewed,
    Fact,
    GoalChanged,
    ResponseUsed,
    Tokens,
    TokensCounted,
    TurnEnded,
    TurnFact,
    TurnStarted,
)
from codex_mcp.threads.context import ThreadContext
from codex_mcp.threads.loading import Loading
from codex_mcp.threads.open_questions import ParkedQuestions
from codex_mcp.threads.own.adopting import Adopting
from codex_mcp.threads.own.audience import NoCaller
from codex_mcp.threads.own.reviews import Reviews
from codex_mcp.threads.own.subagents import Subagents
from codex_mcp.threads.own.unasked import Unasked, interrupt
from codex_mcp.threads.record import Stopped
from codex_mcp.threads.turn import Turn
from codex_mcp.threads.turn_queue import STOPPED, Action, Source, TurnQueue, TurnQueueState

GOAL: Final = "goal"
ITSELF: Final = "codex-itself"
"""What the audit calls turns that Codex began."""

GOES_ON: Final = "The agent goes on by itself ({}): codex_wait reports the end, and {} stops it."
STOPS_AGENT: Final = "codex_interrupt"
STOPS_THREAD: Final = "codex-reply with `when: interrupt`"
"""Without a team."""

NOT_ORDERED: Final = "The goal was not changed: {}"
SWITCHED_OFF: Final = "goals are switched off for this thread"

NEAR: Final = 2
"""A limit is near if this many requests of the largest size so far would reach it."""


class Host(Protocol):
    """The thread."""

    id: str
    agent: str
    principal: str
    newest: Turn | None
    loading: Loading
    spec: ThreadSpec

    @property
    def current(self) -> Turn | None: ...

    def cancel(self, turn: Turn) -> None: ...

    def add(self, turn: Turn) -> None:
        """This is its current turn."""


class OwnWork:
    def __init__(
        self, host: Host, queue: TurnQueue, perform: Callable[[list[Action]], None], context: ThreadContext
    ) -> None:
        self._host = host
        self._queue = queue
        self._settings = context.settings
        self._listener = context.listener
        self._admission = context.admission
        self.unasked = Unasked()
        self.subagents = Subagents()
        self._adopting = Adopting(self.unasked, queue, perform, self._new_turn, self._last_words)
        self.is_news = self._adopting.is_news
        self._largest = 0
        """Tokens of the largest request so far."""
        self._ordering: set[Turn] = set()
        """Turns whose goals are about to be set or changed. Such a turn may have ended already."""
        self._no_order = asyncio.Event()
        self._no_order.set()
        self._apart: list[Turn] = []
        """Turns that have to wait, and cannot join one of a goal."""
        self._goals_heard = 0
        """How often Codex has told of a goal of the thread."""
        self._tasks = TaskSet()
        self._reviews = Reviews(self.subagents, self._count, self._tasks)
        self._parked: ParkedQuestions | None = None
        """Of the turn that began last."""

    def lost(self) -> None:
        """The core has ended, or has unloaded the thread."""
        self.unasked.lost()
        self.subagents.all_ended()

    def described(self) -> dict[str, object]:
        """Its goal and its sub-agents, if there are any."""
        goal, helpers = self.unasked.goal(self._host.id), self.subagents.listed()
        told: dict[str, object] = {} if goal is None else {"goal": msgspec.to_builtins(goal)}
        return {**told, "subagents": msgspec.to_builtins(helpers)} if helpers else told

    def going_on(self) -> Stopped:
        """What would have to be stopped now. A goal that is being set is one, although it may be refused."""
        known, goal = self.unasked.going_on(), self.unasked.goal(self._host.id)
        orders = [turn.spec.goal for turn in self._ordering if turn.spec.goal is not None]
        before = "" if goal is None else goal.objective
        ordered = [order.objective or before for order in orders if order.status == ACTIVE]
        return replace(known, goals=tuple(filter(None, dict.fromkeys((*known.goals, *ordered)))))

    async def quiesce(self) -> None:
        """Stop it: the goal, the turns that Codex began, and the sub-agents."""
        core, turn = self._host.loading.core, self._host.current
        if turn is not None and turn.place.source is Source.CODEX:
            self._host.cancel(turn)
        if core is not None:
            self.unasked.begin_stop()  # a goal that is being set counts as paused, too
            try:
                await self.orders_obeyed()
                await self.unasked.quiesce(core, self._settings.interrupt_grace)
            finally:
                self.unasked.end_stop()
            self.settle()

    def begin_quiesce(self) -> None:
        self.unasked.begin_stop()
        quiescing = self._tasks.spawn(self.quiesce(), name=f"what {self._host.id} does by itself")
        quiescing.add_done_callback(lambda _: self.unasked.end_stop())

    def make_way(self, current: Turn | None, spec: TurnSpec) -> None:
        """This prompt has come. One that interrupts stops sub-agents, too, also if no turn runs here."""
        if spec.when is When.INTERRUPT and not self.unasked.is_quiet:
            self.begin_quiesce()
        goal = self.unasked.goal(self._host.id)
        if goal is None or goal.status != ACTIVE or spec.is_plain:  # otherwise it would meet the next turn of the goal
            self._adopting.make_way(current)

    def turn_waits(self, turn: Turn) -> None:
        """This turn waits for its place. If it can join no turn of a goal, none may begin before it."""
        waiting = [each for each in (*self._apart, turn) if each.place.state is TurnQueueState.WAITING]
        self._apart = [each for each in waiting if not each.spec.is_plain]
        self._bind_goals()

    def settle(self) -> None:
        """To be called when a turn of the thread has ended."""
        if self.unasked.is_held and not self._adopting.has_begun(self._host.current):
            self._bind_goals()
            if self.unasked.is_held:
                self._tell_core(self.unasked.release)
        self._adopting.settle(self._host.current)

    def _tell_core(self, tell: Callable[[Core], Coroutine[Any, Any, None]]) -> None:
        async def tell_and_settle(core: Core) -> None:
            await tell(core)
            self.settle()

        if (core := self._host.loading.core) is not None:
            self._tasks.spawn(tell_and_settle(core), name=f"goal of {self._host.id}")

    def fact_received(self, fact: Fact) -> None:
        """Something happened in the thread that is not about one of its turns."""
        if isinstance(fact, ApprovalReviewed):
            self._reviews.happened(self._host.loading.core, self._host.id)
            return
        if isinstance(fact, GoalChanged) and fact.goal is not None:
            self._goals_heard += 1
        if isinstance(fact, TokensCounted) and self.unasked.runs(self._host.id, fact.turn_id):
            self._count(fact.last)
        elif isinstance(fact, TurnEnded):
            self._queue.missed(fact.turn_id)
        self._unasked_told(self._host.id, fact)

    def _unasked_told(self, thread_id: str, fact: Fact | None) -> None:
        was_quiet = self.unasked.is_quiet
        self.unasked.fact_received(thread_id, fact)
        if isinstance(fact, TurnStarted) and self.unasked.is_stopped:
            self.begin_quiesce()  # it was about to begin when everything was stopped
        self._bind_goals()
        self.settle()
        if self.unasked.is_quiet and not was_quiet and self._host.current is None:
            self._listener.turn_left(self._host)

    def _count(self, used: Tokens) -> None:
        """Count tokens that no turn of the thread has reported: for the one that runs, or for the thread alone."""
        turn = self._host.current or self._host.newest
        if turn is None or turn.ended:
            self._listener.tokens_used(self._host, used.total_tokens)
        else:
            turn.record.add_usage(used)
        self.tokens_counted(used)

    def _bind_goals(self, *, begins: bool = False) -> None:
        """Pause the goals if a limit allows no further turn. Near one, or before others, begin one turn at a time."""
        turn = self._host.current or self._host.newest
        if turn is None or not self.unasked.has_goals:
            return  # there is nothing that a limit could bind
        if why := self._listener.why_no_more(self._host, 0):
            turn.record.warn(dict.fromkeys((*turn.record.warnings, why)))
            self.unasked.mark_paused()
            self._tell_core(self.unasked.pause)
        elif begins or self._adopting.has_begun(turn):
            is_next = any(each.place.state is TurnQueueState.WAITING for each in self._apart)
            if is_next or self._listener.why_no_more(self._host, NEAR * self._largest):
                self._tell_core(self.unasked.hold)

    def turn_started(self, fact: TurnStarted) -> None:
        self._adopting.turn_started(self._host.current, fact)

    def turn_told(self, turn: Turn, fact: TurnFact) -> None:
        """Something is about to be recorded in a turn of the thread."""
        if isinstance(fact, TurnEnded):
            self._reviews.look(self._host.loading.core, self._host.id)
        match fact:
            case TurnStarted() if turn.place.source is Source.CODEX:
                self._turn_begins(turn, fact.turn_id)
            case ResponseUsed():  # one request of a review
                self._listener.tokens_counted(self._host)
            case TokensCounted() if turn.ended:
                self._listener.tokens_used(self._host, fact.last.total_tokens)
            case TurnEnded() if turn.place.source is not Source.CODEX and not self.unasked.is_stopped:
                if turn not in self._ordering:
                    self._tell_what_goes_on(turn)

    def _tell_what_goes_on(self, turn: Turn) -> None:
        if what := self._going_on():
            stops = STOPS_AGENT if self._host.agent else STOPS_THREAD
            turn.record.warn((*turn.record.warnings, GOES_ON.format(what, stops)))

    def _turn_begins(self, turn: Turn, turn_id: str) -> None:
        """A turn begins that nobody asked for: stop it before its request leaves, or when its time is over."""
        if why := self._listener.why_no_more(self._host, 0):
            if turn.core is not None:  # at once: the request leaves some hundredths of a second later
                self._tasks.spawn(interrupt(turn.core, self._host.id, turn_id), name="interrupt at the beginning")
            turn.record.stop_because(why)
            self._host.cancel(turn)
            return
        self._listener.turn_begun_by_codex(self._host)
        self._limit_time(turn)
        self._bind_goals(begins=True)

    def _limit_time(self, turn: Turn) -> None:
        if turn.spec.time_limit is not None:
            turn.stop_after(turn.spec.time_limit, partial(self._host.cancel, turn))

    def tokens_counted(self, used: Tokens) -> None:
        """Tokens were used, here or in a sub-agent: stop what no prompt asked for if a limit is reached."""
        self._largest = max(self._largest, used.total_tokens)
        self._listener.tokens_counted(self._host)
        self._bind_goals()
        turn = self._host.current
        if turn is None or (turn.place.source is not Source.CODEX and not self.unasked.has_turns):
            return
        if why := self._listener.why_not(self._host, turn):
            turn.record.warn(dict.fromkeys((*turn.record.warnings, why)))  # it may be about to complete
            self.begin_quiesce()  # first: the goal must be paused before this turn ends
            if turn.place.source is Source.CODEX:
                turn.record.stop_because(why)
                self._host.cancel(turn)

    def subagent_told(self, thread_id: str, fact: Fact | None) -> None:
        """Something happened in the thread of a sub-agent."""
        core = self._host.loading.core
        if core is not None and not self.subagents.has(thread_id):
            self._tasks.spawn(self._name(core, thread_id), name=f"name of {thread_id}")
        used = self.subagents.fact_received(thread_id, fact)
        if isinstance(fact, ApprovalReviewed):
            self._reviews.happened(self._host.loading.core, thread_id)
        elif isinstance(fact, TurnEnded):
            self._reviews.look(core, thread_id)
            self._admission.subagent_ended(self._host, fact)
        if isinstance(fact, TurnStarted):
            self._subagent_begins(thread_id, fact.turn_id)
        self._unasked_told(thread_id, fact)
        if used is not None:
            self._count(used)

    def _subagent_begins(self, thread_id: str, turn_id: str) -> None:
        core = self._host.loading.core
        if why := self._listener.why_no_more(self._host, 0):
            if core is not None and not self.unasked.is_stopped:  # otherwise it is interrupted as whatever begins then
                self._tasks.spawn(interrupt(core, thread_id, turn_id), name="interrupt of a sub-agent")
            if (turn := self._host.current or self._host.newest) is not None:
                turn.record.warn(dict.fromkeys((*turn.record.warnings, why)))
        else:
            self._listener.turn_begun_by_codex(self._host)

    async def _name(self, core: Core, thread_id: str) -> None:
        self.subagents.named(thread_id, await nickname(core, thread_id))

    def asker(self, thread_id: str) -> str:
        """Who asks a question of this thread, in words; empty if it is no sub-agent's."""
        name = self.subagents.name(thread_id)
        parent = f"agent {self._host.agent}" if self._host.agent else f"thread {self._host.id}"
        return f"Sub-agent {name} of {parent}" if name else ""

    def _take_questions(self, turn: Turn) -> None:
        """This turn begins: what sub-agents asked in the one before is listed with it."""
        if self._parked is not None:
            turn.parked.take_over(self._parked)
        self._parked = turn.parked

    async def prepare_prompt(self, turn: Turn) -> None:
        """This prompt is about to be sent, not before what was to be stopped has been: it may begin the same anew."""
        await self.unasked.wait_for_stops()
        self._take_questions(turn)
        if turn.spec.goal is not None:
            self._ordering.add(turn)
            self._no_order.clear()
        turn.ask()
        self.unasked.prompted()

    async def prompt_accepted(self, turn: Turn) -> None:
        """The turn has begun. If it is to set a goal, set it now: so Codex goes on with it when the turn has ended."""
        if turn.spec.goal is not None and turn.place.state not in STOPPED:
            await self._order_goal(turn, turn.spec.goal)
        self.order_ended(turn)

    def order_ended(self, turn: Turn) -> None:
        """Its goal has been set or changed, or never will be."""
        self._ordering.discard(turn)
        if not self._ordering:
            self._no_order.set()

    async def orders_obeyed(self) -> None:
        """Wait until the goals are set that callers have ordered, so that they can be stopped."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._settings.interrupt_grace):
                await self._no_order.wait()

    def after_order(self, turn: Turn, before: asyncio.Future[None] | None) -> asyncio.Future[None] | None:
        """What the end of this turn has to wait for, besides `before`: its caller is told what became of the goal."""

        async def both() -> None:
            await self.orders_obeyed()
            if not self.unasked.is_stopped:
                self._tell_what_goes_on(turn)
            if before is not None:
                await before

        if turn not in self._ordering:
            return before
        return self._tasks.spawn(both(), name=f"order of a goal of {self._host.id}")

    async def _order_goal(self, turn: Turn, order: GoalOrder) -> None:
        heard = self._goals_heard
        try:
            if self._host.spec.config.get(GOALS) is False:  # Codex would take the order, and do nothing
                raise CoreError(SWITCHED_OFF)
            if turn.core is not None:
                self.unasked.let_go(self._host.id)
                goal = await order_goal(turn.core, self._host.id, order)
                if heard == self._goals_heard:  # Codex answers before it tells of the change
                    self.fact_received(GoalChanged(goal))
        except CoreError as exc:
            turn.record.warn((*turn.record.warnings, NOT_ORDERED.format(exc)))

    def _going_on(self) -> str:
        """What goes on after the end of a turn, in words."""
        goal, busy = self.unasked.goal(self._host.id), self.subagents.busy
        goals = [f'goal "{goal.objective}"'] if goal is not None and self.unasked.has_goals else []
        return ", ".join([*goals, *(f"sub-agent {name}" for name in busy)])

    def _last_words(self) -> str:
        goal = self.unasked.goal(self._host.id)
        ended = ["Its sub-agents have ended."] if self.subagents.listed() else []
        return " ".join([*ended, *([] if goal is None else [f"Its goal is {goal.status}."])])

    def _new_turn(self) -> Turn:
        """A turn on behalf of whoever asked for the newest one."""
        host, last = self._host, self._host.newest
        audience = NoCaller(host.principal, self._settings.approval_timeout) if last is None else last.audience
        spec = TurnSpec(time_limit=None if last is None else last.spec.time_limit)
        turn = Turn(host.id, spec, audience, full_events=last is not None and last.full_events, source=Source.CODEX)
        turn.ask()
        self._take_questions(turn)
        if host.loading.core is not None:
            turn.given_to(host.loading.core)
        if last is not None:
            last.lead_to(turn)
        turn.set_purpose(ITSELF if self.unasked.goal(host.id) is None else GOAL)
        turn.record.set_activity(self._going_on() or "working")
        host.add(turn)
        self._limit_time(turn)
        return turn

    async def aclose(self) -> None:
        self._adopting.close()
        await self._tasks.aclose()
