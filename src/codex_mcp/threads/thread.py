"""One Codex conversation: runs its turns one by one, sends events to the turn's audience and questions to a person.

`turn_queue.TurnQueue` decides what happens next. This module does it: it calls the core, waits, and tells the callers.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Coroutine
from functools import partial
from typing import Any

from codex_mcp.base.errors import Refused
from codex_mcp.base.logs import stay_about
from codex_mcp.base.tasks import TaskSet
from codex_mcp.codex import facts
from codex_mcp.codex.config.permissions import spec_after_turn
from codex_mcp.codex.conversation.rollback import drop_turns
from codex_mcp.codex.core import CannotResume, Core, CoreError, CoreLost, OpenedThread, ThreadSpec, Told, TurnSpec
from codex_mcp.threads import turn_queue
from codex_mcp.threads.answering import Answering, Whose
from codex_mcp.threads.context import ThreadContext
from codex_mcp.threads.events.translator import EventTranslator
from codex_mcp.threads.limits.reach import ModelReach
from codex_mcp.threads.loading import UNLOADED, Loading
from codex_mcp.threads.own.own_work import OwnWork
from codex_mcp.threads.publishing import Publishing
from codex_mcp.threads.questions.board import Via, denied
from codex_mcp.threads.steering import Steering
from codex_mcp.threads.stopping.stopper import STILL_RUNNING, Stopper
from codex_mcp.threads.token_meter import TokenMeter
from codex_mcp.threads.turn import Audience, EndedTurns, Turn
from codex_mcp.threads.turn_queue import CLOSED, STOPPED, Action, QueuePlace, Source, TurnQueue, TurnQueueState
from codex_mcp.wire.app.questions import Asked
from codex_mcp.wire.jsonrpc import Id

logger = logging.getLogger(__name__)


class Thread:
    def __init__(self, opened: OpenedThread, spec: ThreadSpec, core: Core, context: ThreadContext) -> None:
        self.id = opened.thread_id
        self.is_named = not opened.is_provisional
        self.opened = opened
        self.used_at = time.monotonic()
        self.cwd, self.spec = opened.cwd, spec
        self.principal, self.account = context.principal, context.account
        self.agent = ""
        """The name of the agent whose thread it is."""
        self._context = context
        self.loading = Loading(core, opened, context.cores)
        self.translator = EventTranslator(self.id, full=spec.raw_events)
        self._publishing = Publishing(self, context.observers, self.translator, opened.answer)
        self._queue = TurnQueue(context.settings.max_turns_waiting)
        self._turns: dict[QueuePlace, Turn] = {}
        self.newest: Turn | None = None
        self._ended = EndedTurns()
        decided = partial(context.listener.question_decided, self)
        self._answering = Answering(self.translator, self._publishing.publish, decided, self.cancel, context)
        self.meter = TokenMeter()
        self._steering = Steering(self._queue, self._perform, self._turns)
        self._stopper = Stopper(self._queue, self._perform, context.cores, self.cwd, context.settings.interrupt_grace)
        self.own = OwnWork(self, self._queue, self._perform, context)
        self._tasks = TaskSet()
        self._reach = ModelReach(self, context.settings.unreachable_timeout, self.cancel, self._tasks)

    def __repr__(self) -> str:
        return f"<Thread {self.id} {self._queue!r}>"

    @property
    def gone(self) -> str:
        """Why it can never be continued; empty if it can."""
        return self.loading.gone(self.id)

    @property
    def idle(self) -> bool:
        return self._queue.idle

    @property
    def is_quiet(self) -> bool:
        """No turn runs or waits, and Codex does nothing by itself, here or in its sub-agents."""
        return self._queue.idle and self.own.unasked.is_quiet

    @property
    def waiting(self) -> int:
        return self._queue.waiting

    @property
    def asking(self) -> int:
        return self._answering.open

    @property
    def current(self) -> Turn | None:
        """The turn that the core has, even if its caller was already told that it ended."""
        return self._turns.get(place) if (place := self._queue.current) is not None else None

    def submit(
        self,
        spec: TurnSpec,
        audience: Audience,
        *,
        full_events: bool,
        source: Source = Source.CALLER,
        last: bool = False,
    ) -> Turn:
        """Queue a turn; a shut thread accepts only a `last` one. Raises QueueFull, QueueShut, Refused.

        A prompt that steers is no turn of its own (`Turn.joins`), unless no turn runs or that turn does not read it.
        """
        if not last:
            self._context.check_quota(spec)
        turn = Turn(self.id if self.is_named else "", spec, audience, full_events=full_events, source=source)
        self.queue(turn, last=last)
        return turn

    def queue(self, turn: Turn, *, last: bool = False) -> None:
        """Queue this turn. Raises QueueFull, QueueShut."""
        self.own.make_way(self.current, turn.spec)
        host = self.current
        actions = self._queue.offer(turn.place, turn.when_read(None if last else host), last=last)
        self._turns[turn.place] = turn
        if host is not None and turn.place.state is TurnQueueState.JOINING:
            turn.join(host)
        else:
            self.newest = turn
        self._publishing.catch_up(turn.audience)
        if turn.place.state is TurnQueueState.WAITING:
            turn.record.set_activity("waiting for an earlier turn")
            self.own.turn_waits(turn)
        self._context.listener.turn_submitted(self, turn)
        self._perform(actions)

    def cancel(self, turn: Turn) -> None:
        """Stop a turn that waits or runs. This returns at once; `turn.wait()` waits for its end."""
        self._perform(self._queue.cancel(turn.place))

    def uncollected(self) -> list[Turn]:
        """Ended turns whose outcome was not delivered to a caller, oldest first."""
        return [turn for turn in self._ended if not turn.delivered]

    @property
    def turns(self) -> list[Turn]:
        """Those that run, wait or have ended. A prompt that steers another turn is none."""
        return [turn for turn in self._all_turns() if turn.joins is None and self.own.is_news(turn)]

    def _all_turns(self) -> list[Turn]:
        return list(dict.fromkeys((*self._ended, *self._turns.values())))

    def turn(self, turn_id: str) -> Turn | None:
        """The turn with this id, if it runs or has ended recently."""
        is_own = self.own.unasked.runs(self.id, turn_id)  # until turn/start is answered: a prompt may have joined it
        turn = self.current if self._queue.is_current(turn_id) and not is_own else None
        return turn if turn is not None and (turn.is_asked or turn.place.turn_id) else self._ended.find(turn_id)

    def turn_named(self, name: str) -> Turn | None:
        return next((turn for turn in self._all_turns() if turn.name == name), None)

    def unfinished(self) -> list[Turn]:
        return [turn for turn in self._turns.values() if not turn.ended]

    async def until_idle(self) -> None:
        """Wait until every turn has ended, for its caller and for the core."""
        for turn in self.turns:
            await turn.wait()
        while (current := self.current) is not None:
            await current.left.wait()

    def cancel_all(self) -> None:
        for turn in reversed(self.unfinished()):
            self.cancel(turn)

    def shut(self) -> None:
        """Accept no more turns, fail those that wait, stop the one that runs."""
        for turn in self._turns.values():
            if turn.place.state in (TurnQueueState.WAITING, TurnQueueState.JOINING):
                turn.give_up(CLOSED)
        self._perform(self._queue.shut())

    def open(self) -> None:
        self._queue.open()

    def deny_parked(self, why: str) -> None:
        """Deny every question that is listed for a client to answer."""
        for question_id in [each for turn in self._turns.values() for each in turn.parked.open]:
            self._context.board.decide(question_id, denied(why, Via.SHUTDOWN))

    async def unload(self) -> None:
        """Unload it from the core; the next turn loads it again, with its goal paused."""
        await self.loading.unload(self.id, self.own.quiesce)

    def add(self, turn: Turn) -> None:
        """Codex began this turn by itself, or is about to."""
        self._queue.expect(turn.place)
        self._turns[turn.place] = self.newest = turn
        self._context.listener.turn_submitted(self, turn)

    def begin_now(self, turn: Turn) -> None:
        """This turn, which was expected, was never begun."""
        self._perform(self._queue.begin_expected(turn.place))

    def belongs_to(self, agent: str) -> None:
        self.agent = agent

    def had_turn(self, turn_id: str) -> bool:
        """Whether this turn runs here, or has lately."""
        return self._queue.knows(turn_id)

    async def aclose(self) -> None:
        self._fail_all("the server has stopped")
        for part in (self._tasks, self.own, self._steering, self._stopper):
            await part.aclose()

    def named(self, thread_id: str) -> None:
        """The core has replaced the provisional id, before it sent anything else about this thread."""
        self.id = thread_id
        self.is_named = True
        for turn in self._turns.values():
            turn.thread_named(thread_id)

    def notification_received(self, told: Told | None, fact: facts.Fact | None) -> None:
        if isinstance(fact, facts.TurnStarted | facts.TokensCounted):
            fact = self.meter.read(fact)
        if isinstance(fact, facts.ErrorReported) and (refused := self.turn(fact.turn_id)) is not None:
            fact = refused.read_error(fact)
        events, turn = [] if told is None else self.translator.told(told), None
        if isinstance(fact, facts.TurnEnded):  # its events come before the answer to its caller
            self._publishing.publish(events)
            events = []
        if isinstance(fact, facts.QuestionWithdrawn):
            self._answering.withdraw(fact.request_id)
        elif isinstance(fact, facts.GoalChanged | facts.ApprovalReviewed):
            self.own.fact_received(fact)
        elif isinstance(fact, facts.ThreadUnloaded):
            self.loading.unloaded()
            self.own.lost()
            if self.current is not None and self.current.place.turn_id:
                self._fail_all(UNLOADED)  # the core will never report the end of the turn
            self.own.settle()
        elif fact is not None:
            turn = self._turn_fact_received(fact)
        self._publishing.publish(events, turn)

    def _turn_fact_received(self, fact: facts.TurnFact) -> Turn | None:
        if (current := self.current) is not None and current.spec.review is not None:
            fact = current.own_fact(fact)
        if isinstance(fact, facts.TurnStarted):
            self.own.turn_started(fact)
        if self._queue.joined:
            self._steering.fact_received(fact)
        is_current = current is not None and current.place.turn_id == fact.turn_id != ""
        turn = current if is_current else self.turn(fact.turn_id)
        if turn is None:
            self.own.fact_received(fact)
            return None
        if isinstance(fact, facts.TurnStarted | facts.TurnEnded | facts.TokensCounted | facts.ResponseUsed):
            self.own.turn_told(turn, fact)
        if turn.add(fact):
            self._reach.turn_told(turn)
        if isinstance(fact, facts.TurnStarted):
            self._perform(self._queue.started(fact.turn_id))
        elif isinstance(fact, facts.TurnEnded):
            self._perform(self._queue.ended(fact.turn_id, completed=fact.status == "completed"))
            self.own.settle()
        elif isinstance(fact, facts.TokensCounted):
            self.own.tokens_counted(fact.last)
        return turn

    def question_received(self, question_id: Id, asked: Asked) -> Coroutine[Any, Any, object]:
        """The core asks something, here or in a sub-agent; the coroutine returns the answer."""
        self._publishing.publish(self.translator.told(asked))
        whose = Whose(self.principal, self.agent, self.own.asker(asked.thread_id))
        return self._answering.answer(question_id, asked, self, whose)

    def turn_unreadable(self, why: str) -> None:
        """A message that the running turn depends on was too long to read: the turn fails."""
        turn = self.current
        if turn is not None and not turn.ended:
            turn.record.spoil(why)
            self.cancel(turn)

    def core_lost(self, core: Core, reason: CoreLost) -> None:
        """The core has ended: fail its turn and the turns that wait behind it."""
        if self.loading.core_lost(core, reason):
            self.own.lost()
        if self.current is not None and self.current.core is core:  # one that has no core yet starts in the next one
            self._fail_all(str(reason))
            self.loading.loss_was_told()

    def _fail_all(self, why: str) -> None:
        for turn in self._turns.values():
            turn.record.fail(why)
        self._perform(self._queue.lost())

    def _perform(self, actions: list[Action]) -> None:
        for action in actions:
            turn = self._turns[action.place]
            match action:
                case turn_queue.Start():
                    self._tasks.spawn(self._start(turn), name=f"start of a turn in {self.id}")
                case turn_queue.Interrupt():
                    self.own.begin_quiesce()
                    self._stopper.begin(turn)
                case turn_queue.Steer():
                    self._steering.begin(turn)
                case turn_queue.Share():
                    self._leave(turn)
                    self._ended.add(turn)
                    turn.share_end(partial(self._tell_end, turn))
                case turn_queue.Return(said=said):
                    turn.part(is_said=said)
                    self.newest = turn
                    self._context.listener.turn_submitted(self, turn)
                case turn_queue.Remind():
                    self.own.begin_quiesce()
                    self._stopper.remind(turn)
                    self._context.admission.withdraw(turn)
                case turn_queue.Conclude():
                    self._conclude(turn)
                case turn_queue.Leave():
                    self._leave(turn)
                    self._context.listener.turn_left(self)

    async def _start(self, turn: Turn) -> None:
        stay_about(turn.subject)  # the end of another turn may have started it, on behalf of another request
        try:
            if not await self._context.admission.enter(self, turn, self.account):
                self._perform(self._queue.start_failed(turn.place))
                return
            await self._stopper.prepare(turn)
            core = await self.loading.load(self.id, self.spec)
            if turn.ended:  # it was cancelled before it was sent to the core
                self._perform(self._queue.start_failed(turn.place))
                return
            if why_not := self._context.listener.why_not(self, turn):
                raise Refused(why_not)
            self._stopper.note_folders()
            turn.given_to(core)
            if turn.spec.rollback and core.resumes:  # an old Codex refuses it with the turn
                note = await drop_turns(core, self.id, turn.spec.rollback, self.meter.turns_dropped)
                turn.record.warn((*turn.record.warnings, note))
            self._context.note_position(turn, self.spec, self.cwd)
            self.translator.turn_starts(full=turn.full_events)
            turn.record.warn((*turn.record.warnings, *self.loading.to_tell()))
            await self.own.prepare_prompt(turn)
            told = await self._context.written(self, turn, self.loading.told(turn.spec))
            turn_id = await core.start_turn(self.id, told, self.spec)
            self.spec = spec_after_turn(self.spec, turn.spec.settings)
        except (CoreError, Refused) as exc:
            if isinstance(exc, CannotResume):
                self.loading.cannot_resume(str(exc))
            self._start_failed(turn, str(exc))
            return
        if self._queue.accepted(turn_id, turn.place):
            await self._accept(turn, turn_id)
        else:
            self._start_failed(turn, STILL_RUNNING)

    async def _accept(self, turn: Turn, turn_id: str) -> None:
        logger.info("turn %s started", turn_id)
        if self.own.unasked.turn_taken(self.id, turn_id):  # Codex had just begun it by itself, and added the prompt
            self._turn_fact_received(facts.TurnStarted(turn_id, turn_id))
        await self.own.prompt_accepted(turn)
        if turn.place.state in STOPPED:
            await self._stopper.see_to_end(turn)
        elif turn.spec.time_limit is not None:
            turn.stop_after(turn.spec.time_limit, partial(self.cancel, turn))

    def _start_failed(self, turn: Turn, why: str) -> None:
        logger.warning("cannot start a turn: %s", why)
        self.own.order_ended(turn)
        if turn.place.state is not TurnQueueState.STOPPING:
            turn.record.fail(why)
        self._perform(self._queue.start_failed(turn.place))

    def _conclude(self, turn: Turn) -> None:
        if turn.place.state is TurnQueueState.ENDED:
            self._leave(turn)
        if turn.record.is_running:
            turn.record.interrupt()  # the core did not report how it ended: its caller cancelled it
        if turn.joins is not None:
            turn.mark_delivered()  # callers are told of the turn that it was to steer
        self._ended.add(turn)
        looking, was_left = self._context.look(turn, self.spec), turn.place.state is TurnQueueState.ABANDONED
        before = self.own.after_order(turn, None if was_left else turn.stopped or looking)
        if before is None or before.done():
            self._tell_end(turn)
        else:
            # Its commands are being killed, its files looked at, or its goal is set; only then is the caller told.
            before.add_done_callback(lambda _: self._tell_end(turn))

    def _leave(self, turn: Turn) -> None:
        del self._turns[turn.place]
        self._stopper.left(turn)
        self.used_at = time.monotonic()
        turn.left.set()

    def _tell_end(self, turn: Turn) -> None:
        turn.conclude()
        self._context.listener.turn_concluded(self, turn)
