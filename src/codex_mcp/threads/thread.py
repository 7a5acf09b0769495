"""One Codex conversation: its turns one after the other, its events to the turn's audience, its questions to a person.

`turns.TurnQueue` decides; this file performs: it asks the core, waits, and tells those who wait.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections import deque
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final

from msgspec import Raw
from msgspec.structs import replace

from codex_mcp.base.errors import Refused
from codex_mcp.base.logs import about_only
from codex_mcp.base.settings.groups import Settings
from codex_mcp.base.tasks import TaskSet
from codex_mcp.codex.core import CannotResume, Core, CoreError, CoreLost, OpenedThread, ThreadSpec, TurnSpec
from codex_mcp.codex.events.translator import Event, EventTranslator
from codex_mcp.codex.facts import QuestionWithdrawn, ThreadUnloaded, TokensCounted, TurnEnded, TurnStarted
from codex_mcp.threads.counts import Counts
from codex_mcp.threads.limits.admission import Admission
from codex_mcp.threads.listener import TurnListener
from codex_mcp.threads.open_questions import OpenQuestions
from codex_mcp.threads.owners import LOCAL
from codex_mcp.threads.questions.approvals import core_answer, explanation, must_interrupt, refusal
from codex_mcp.threads.questions.decisions import Denied, is_approval, word_for
from codex_mcp.threads.questions.questions import Unreadable, item_of, question_from
from codex_mcp.threads.record import Status
from codex_mcp.threads.sandbox_leftovers import SandboxLeftovers
from codex_mcp.threads.stopping import STILL_RUNNING, Cores, Stopper
from codex_mcp.threads.token_meter import TokenMeter
from codex_mcp.threads.turn import Audience, Turn
from codex_mcp.threads.turn_queue import (
    Action,
    Conclude,
    Interrupt,
    Leave,
    QueuePlace,
    Remind,
    Source,
    Start,
    TurnQueue,
    TurnQueueState,
)
from codex_mcp.wire.jsonrpc import Id

logger = logging.getLogger(__name__)


EARLY_EVENTS: Final = 256
"""Events that wait for the first turn: what is said of a thread before anybody asks it something."""

OUTCOMES_KEPT: Final = 32
"""Turns that have ended; of more, one whose outcome was given to somebody goes first. As many as may wait."""

UNLOADED: Final = "Codex has unloaded the thread in the middle of a turn; call codex-reply to continue it"
CLOSED: Final = "the thread was closed before this turn could begin"


class Thread:
    """A conversation that we have opened."""

    def __init__(self, opened: OpenedThread, spec: ThreadSpec, core: Core, cores: Cores, settings: Settings) -> None:
        self.id = opened.thread_id
        self.is_named = not opened.is_provisional
        self.cwd = opened.cwd
        self.used_at = time.monotonic()
        self.spec = spec
        self._cores = cores
        self._settings = settings
        self._loaded_in: Core | None = core
        self._fact_of = core.fact_of
        self._gone = ""
        self._translator = EventTranslator(self.id, full=spec.raw_events)
        self._queue = TurnQueue(settings.max_turns_waiting)
        self._turns: dict[QueuePlace, Turn] = {}
        self.newest: Turn | None = None
        """The turn that was asked for last."""
        self._ended: list[Turn] = []
        self._questions = OpenQuestions()
        self._meter = TokenMeter()
        self.counts = Counts()
        """Shared by all threads."""
        self.listener: TurnListener[Thread] | None = None
        self.principal = LOCAL
        self.admission: Admission | None = None
        """Where its turns wait for those of other principals."""
        self.check_quota: Callable[[TurnSpec], None] = lambda _: None
        """Called before a turn is queued; raises Refused if its principal has too much waiting."""
        self._early: deque[Event] = deque(self._translator.thread_opened(opened.response), maxlen=EARLY_EVENTS)
        self._leftovers = SandboxLeftovers(self.cwd)
        self._stopper = Stopper(self._queue, self._perform, cores, self._leftovers, settings.interrupt_grace)
        self._tasks = TaskSet()

    def __repr__(self) -> str:
        return f"<Thread {self.id} {self._queue!r}>"

    @property
    def gone(self) -> str:
        """Why it can never go on, if it cannot."""
        return self._gone or ("" if self._loaded_in is None else self._loaded_in.why_lost(self.id))

    @property
    def idle(self) -> bool:
        """Nothing runs here and nothing waits."""
        return self._queue.idle

    @property
    def waiting(self) -> int:
        """How many turns wait behind another."""
        return self._queue.waiting

    @property
    def asking(self) -> int:
        """How many questions wait for a person."""
        return len(self._questions)

    @property
    def current(self) -> Turn | None:
        """The turn that the core has, also one that nobody waits for any longer."""
        return self._turns.get(self._queue.current) if self._queue.current is not None else None

    # -- what callers want --------------------------------------------------------------------------------------------

    def submit(
        self,
        spec: TurnSpec,
        audience: Audience,
        *,
        full_events: bool,
        source: Source = Source.CALLER,
        last: bool = False,
    ) -> Turn:
        """Queue a turn; `last` is one that a shut thread still takes. Raises QueueFull, QueueShut, Refused."""
        if not last:
            self.check_quota(spec)
        turn = Turn(self.id if self.is_named else "", spec, audience, full_events=full_events, source=source)
        actions = self._queue.offer(turn.place, last=last)
        self._turns[turn.place] = turn
        self.newest = turn
        while self._early:
            audience.event_happened(self.id, self._early.popleft())
        if not actions:
            turn.record.activity = "waiting for an earlier turn"
        if self.listener is not None:
            self.listener.turn_submitted(self, turn)
        self._perform(actions)
        return turn

    def cancel(self, turn: Turn) -> None:
        """Stop a turn, whether it waits or runs. It ends in its own time; `turn.wait()` tells when."""
        self._perform(self._queue.cancel(turn.place))

    def uncollected(self) -> list[Turn]:
        """The turns that ended without anybody being given their outcome, oldest first."""
        return [turn for turn in self._ended if not turn.delivered]

    @property
    def turns(self) -> list[Turn]:
        """Every turn that is known: those that ended not long ago, then those that run or wait."""
        return list(dict.fromkeys((*self._ended, *self._turns.values())))

    def turn(self, turn_id: str) -> Turn | None:
        """The turn of this id, if it runs or has ended not long ago."""
        if self._queue.is_current(turn_id):
            return self.current
        return next((turn for turn in reversed(self._ended) if turn_id and turn.place.turn_id == turn_id), None)

    def turn_named(self, name: str) -> Turn | None:
        """The turn of this name, if it waits, runs or has ended not long ago."""
        return next((turn for turn in self.turns if turn.name == name), None)

    def unfinished(self) -> list[Turn]:
        """The turns that run or wait, in order."""
        return [turn for turn in self._turns.values() if not turn.ended]

    async def until_idle(self) -> None:
        """Wait until everybody is told, the core has no turn of it, and none waits."""
        for turn in self.unfinished():
            await turn.wait()
        while (current := self.current) is not None:
            await current.left.wait()

    def cancel_all(self) -> None:
        """Stop everything, from the last to wait to the one that runs."""
        for turn in reversed(self.unfinished()):
            self.cancel(turn)

    def shut(self) -> None:
        """Take no more turns, give up those that wait, stop the one that runs."""
        for turn in self._turns.values():
            if turn.place.state is TurnQueueState.WAITING:
                turn.record.fail(CLOSED)
        self._perform(self._queue.shut())

    def open(self) -> None:
        """Take turns again."""
        self._queue.open()

    def deny_parked(self, why: str) -> None:
        """Say no to every question that waits to be fetched: nobody will come for it any more."""
        for turn in self._turns.values():
            turn.parked.answer_all(Denied(why))

    async def unload(self) -> None:
        """Let the core forget it; the next turn loads it again."""
        core, self._loaded_in = self._loaded_in, None
        if core is not None:
            with contextlib.suppress(CoreError):
                await core.unload_thread(self.id)

    async def aclose(self) -> None:
        """End what runs, answer whoever waits."""
        self._fail_all("the server has stopped")
        await self._tasks.aclose()
        await self._stopper.aclose()

    # -- what the core says -------------------------------------------------------------------------------------------

    def named(self, thread_id: str) -> None:
        """The core has given it an id of its own, before anything else was said of it."""
        self.id = self._translator.thread_id = thread_id
        self.is_named = True
        for turn in self._turns.values():
            turn.thread_named(thread_id)

    def notification_received(self, method: str, params: Raw) -> None:
        """Something happened in this thread."""
        fact = self._fact_of(method, params)
        if isinstance(fact, TokensCounted):
            fact = replace(fact, last=self._meter.used(fact))
        for event in self._translator.notification(method, params):
            self._publish(event)
        if isinstance(fact, QuestionWithdrawn):
            self._questions.withdraw(fact.request_id)
        elif isinstance(fact, ThreadUnloaded):
            self._unloaded()
        elif fact is not None and (turn := self.turn(fact.turn_id)) is not None:
            turn.add(fact)
            limit = self._settings.unreachable_timeout
            turn.limit_trouble(partial(self._stop_for, turn.record.out_of_reach, turn, limit), limit)
        if isinstance(fact, TurnStarted):
            self._perform(self._queue.started(fact.turn_id))
        elif isinstance(fact, TurnEnded):
            self._perform(self._queue.ended(fact.turn_id))

    def _unloaded(self) -> None:
        self._loaded_in = None
        if self.current is not None and self.current.place.turn_id:
            self._fail_all(UNLOADED)  # it will never say that the turn is over

    def question_received(self, question_id: Id, method: str, params: Raw) -> Coroutine[Any, Any, object]:
        """The core asks; the coroutine returns its answer."""
        for event in self._translator.request(method, params):
            self._publish(event)
        return self._answer(question_id, method, params)

    def turn_unreadable(self, why: str) -> None:
        """Something that the running turn cannot do without was too long to be read: it has failed."""
        turn = self.current
        if turn is not None and not turn.ended:
            turn.record.spoil(why)
            self.cancel(turn)

    def core_lost(self, core: Core, reason: CoreLost) -> None:
        """The core is gone, and with it the turn that it had and those behind it."""
        if self._loaded_in is core:
            self._loaded_in = None
            self._gone = self._gone if core.resumes else str(reason)
        # A turn that has not been handed to a core yet goes on with the next one.
        if self.current is not None and self.current.core is core:
            self._fail_all(str(reason))

    # -- deeds --------------------------------------------------------------------------------------------------------

    def _fail_all(self, why: str) -> None:
        for turn in self._turns.values():
            turn.record.fail(why)
        self._perform(self._queue.lost())

    def _publish(self, event: Event) -> None:
        """To the audience of its own turn, also after that has ended; nothing is held back for a later call."""
        turn = self.turn(event.turn_id) or self.current or self.newest
        if turn is None:
            self._early.append(event)
        else:
            turn.audience.event_happened(self.id, event)

    def _perform(self, actions: list[Action]) -> None:
        for action in actions:
            turn = self._turns[action.place]
            match action:
                case Start():
                    self._tasks.spawn(self._start(turn), name=f"start of a turn in {self.id}")
                case Interrupt():
                    self._stopper.begin(turn)
                case Remind():
                    self._stopper.remind(turn)
                case Conclude():
                    self._conclude(turn)
                case Leave():
                    self._leave(turn)
                    if self.listener is not None:
                        self.listener.turn_left(self)

    async def _start(self, turn: Turn) -> None:
        # A turn that waited is started by the end of another one: its lines are about its own request.
        with about_only(turn.subject):
            try:
                if self.admission is not None and not await self.admission.enter(turn, self.principal):
                    self._perform(self._queue.start_failed(turn.place))
                    return
                await self._stopper.prepare(turn)
                core = await self._loaded()
                if turn.ended:  # nobody waits for it any longer, and the core has not heard of it
                    self._perform(self._queue.start_failed(turn.place))
                    return
                self._translator.full = turn.full_events
                self._leftovers.look()
                turn.core = core
                turn_id = await core.start_turn(self.id, turn.spec, self.spec)
            except (CoreError, Refused) as exc:
                self._gone = str(exc) if isinstance(exc, CannotResume) else self._gone
                self._start_failed(turn, str(exc))
                return
            if not self._queue.accepted(turn_id, turn.place):
                self._start_failed(turn, STILL_RUNNING)
                return
            logger.info("turn %s started", turn_id)
            if turn.place.state in (TurnQueueState.STOPPING, TurnQueueState.ABANDONED):
                await self._stopper.see_to_end(turn)
            elif turn.spec.time_limit is not None:
                limit = turn.spec.time_limit
                turn.limit_time(partial(self._stop_for, turn.record.out_of_time, turn, limit), limit)

    def _stop_for(self, reason: Callable[[float], None], turn: Turn, seconds: float) -> None:
        reason(seconds)
        self.cancel(turn)

    def _start_failed(self, turn: Turn, why: str) -> None:
        logger.warning("cannot start a turn: %s", why)
        if turn.place.state is not TurnQueueState.STOPPING:
            turn.record.fail(why)
        self._perform(self._queue.start_failed(turn.place))

    async def _loaded(self) -> Core:
        """The core that has this thread, loading it from disk if need be."""
        if self.gone:
            raise CannotResume(self.gone)
        core = await self._cores.core()
        if self._loaded_in is not core:
            await core.resume_thread(self.id, self.spec)
            self._loaded_in, self._fact_of = core, core.fact_of
        return core

    def _conclude(self, turn: Turn) -> None:
        if turn.place.state is TurnQueueState.ENDED:
            self._leave(turn)
        if turn.outcome.status is Status.RUNNING:
            turn.record.interrupt()  # the core has not said how it ended: whoever wanted it has taken it back
        self.counts.turns[turn.outcome.status] += 1
        self._ended.append(turn)
        if len(self._ended) > OUTCOMES_KEPT:
            self._ended.remove(next((ended for ended in self._ended if ended.delivered), self._ended[0]))
        if turn.stopped is None or turn.stopped.done() or turn.place.state is TurnQueueState.ABANDONED:
            self._tell_end(turn)
        else:
            # Its commands are being killed; whoever waits hears of the end when they are dead.
            turn.stopped.add_done_callback(lambda _: self._tell_end(turn))

    def _leave(self, turn: Turn) -> None:
        del self._turns[turn.place]
        self._stopper.left(turn)
        self.used_at = time.monotonic()
        turn.left.set()

    def _tell_end(self, turn: Turn) -> None:
        turn.conclude()
        if self.listener is not None:
            self.listener.turn_concluded(self, turn)

    async def _answer(self, question_id: Id, method: str, params: Raw) -> object:
        turn = self.current
        question = question_from(method, params, self._translator.changes_of(item_of(params)))
        if isinstance(question, Unreadable) or turn is None or turn.ended or turn.record.is_spoiled:
            why = question.why if isinstance(question, Unreadable) else "no turn is running that could wait for it"
            logger.warning("refused a question of thread %s (%s): %s", self.id, method, why)
            return refusal(method)
        with about_only(turn.subject):
            decision = await self._questions.ask(question_id, question, turn.audience)
        word = "withdrawn" if decision is None else word_for(decision)
        self.counts.decisions[word] += 1
        if self.listener is not None:
            self.listener.question_decided(self, turn, word)
        if decision is None:
            return refusal(method)  # withdrawn: nobody reads this
        for event in self._translator.answered(method, params, approved=is_approval(decision)):
            self._publish(event)
        if must_interrupt(question, decision):
            self.cancel(turn)
        told = explanation(question, decision)
        if told is not None and self._loaded_in is not None:
            with contextlib.suppress(CoreError):  # before the answer: afterwards the model might be asked without it
                await self._loaded_in.tell_model(self.id, told)
        return core_answer(question, decision)
