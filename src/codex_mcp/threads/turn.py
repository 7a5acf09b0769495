"""One turn as its caller sees it: a prompt, an audience, and an outcome to wait for."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final, Protocol

from msgspec.structs import replace

from codex_mcp.base.futures import Waiter, Waiters, resolve
from codex_mcp.base.logs import Subject, about_only
from codex_mcp.codex.core import Core, Event, TurnSpec, When
from codex_mcp.codex.facts import (
    CommandStarted,
    ErrorReported,
    Fact,
    ItemEnded,
    MessageSaid,
    MessageStreamed,
    PromptHeard,
    Tokens,
    ToolStarted,
    TurnEnded,
    TurnFact,
    TurnStarted,
)
from codex_mcp.threads.open_questions import ParkedQuestions
from codex_mcp.threads.questions.board import Answer
from codex_mcp.threads.questions.questions import Question
from codex_mcp.threads.record import Outcome, Record, Status
from codex_mcp.threads.turn_queue import QueuePlace, Source

logger = logging.getLogger(__name__)

LOGGED_CHARS: Final = 500
"""How much of the reason for a failure is logged."""

NAME_BYTES: Final = 8
"""A name must be unique, not secret."""

OUTCOMES_KEPT: Final = 32
"""Ended turns that a thread keeps; equal to the limit of waiting turns."""


class Audience(Protocol):
    """Receives the events of a turn, and decides its questions."""

    label: str
    """The id of the request that asked for the turn."""

    @property
    def subject(self) -> Subject:
        """The session, the principal and the request, for the log."""

    def event_happened(self, thread_id: str, event: Event) -> None:
        """Something happened that a person may want to see."""

    def activity_changed(self, activity: str) -> None:
        """The agent started doing something else."""

    async def ask(self, question: Question, turn: Turn) -> Answer:
        """Decide a question of this turn. Never raises; an audience that cannot be asked denies.

        It is cancelled if the question is closed in another way: decided at the board, or withdrawn.
        """


WITH_PROMPT: Final = (PromptHeard, ItemEnded, MessageSaid, MessageStreamed, CommandStarted, ToolStarted)
"""Of a turn, the first of these says that its prompt is in the conversation: the prompt is its first item. When the
turn has started, it may not be there yet, and is lost if Codex dies."""


class Turn:
    """One prompt and its outcome."""

    joins: Turn | None = None
    """The running turn that its prompt steers; None if it is a turn of its own."""
    has_parted = False
    """It was to steer another turn, and became one of its own."""
    inner_id = ""
    """The turn within a review, by which Codex stops it. Codex begins it on the same thread, and never ends it."""
    is_asked = False
    """The core was sent its prompt, or has begun it by itself. Before that, a turn that begins is not this one."""
    _shares_end = False
    _is_sent = False
    _steered_by: frozenset[str] = frozenset()
    _led_to: Turn | None = None

    def __init__(
        self,
        thread_id: str,
        spec: TurnSpec,
        audience: Audience,
        *,
        full_events: bool,
        source: Source = Source.CALLER,
    ) -> None:
        self.thread_id = thread_id
        """Empty while the thread has only a provisional id."""
        self.name = spec.message_id or os.urandom(NAME_BYTES).hex()
        """Our own id, since the core assigns one only at the start."""
        self.spec = spec
        self.audience = audience
        self.full_events = full_events
        self.place = QueuePlace(source)
        self.parked = ParkedQuestions()
        self._questions = 0
        self.core: Core | None = None
        """The core that was asked to start it."""
        self.record = Record(time.monotonic(), is_review=spec.review is not None)
        self.stopped: asyncio.Future[None] | None = None
        """Exists once it is being interrupted; done when its commands are dead."""
        self.item_ended = asyncio.Event()
        """Set whenever one of its items ends; a reader clears it before waiting."""
        self.left = asyncio.Event()
        """Set when the core is done with it, so that the next one may start. The outcome may be known earlier."""
        self.purpose = "turn"
        """What it is for, as the audit names it."""
        self.caller = ""
        """The caller that asked for it; empty if the server did."""
        self.delivered = False
        """A caller has received the outcome, or none will ask for it."""
        self._waiters = Waiters()
        self._limit: asyncio.TimerHandle | None = None
        self._patience: asyncio.TimerHandle | None = None
        self._ended: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._named: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._started: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def __repr__(self) -> str:
        return f"<Turn of {self.thread_id}: {self.place!r}>"

    @property
    def subject(self) -> Subject:
        """What log lines about it carry, in whatever task they are written."""
        return self.audience.subject._replace(thread=self.thread_id)

    @property
    def ended(self) -> bool:
        return self._ended.done()

    @property
    def outcome(self) -> Outcome:
        """The outcome, or how far it has come."""
        if self._ended.done():
            return self._ended.result()
        if self.joins is not None:
            return self.joins.outcome
        return self.record.outcome(self.thread_id, time.monotonic())

    @property
    def answer(self) -> Turn:
        """The turn whose outcome is its own: itself, or the one that it has joined."""
        return self.joins if self.joins is not None and self._shares_end else self

    def join(self, host: Turn) -> None:
        """Its prompt is to steer this turn."""
        self.joins = host
        self.record.set_activity("steering the running turn")

    def when_read(self, host: Turn | None) -> When:
        """When its prompt is read: at once, if Codex began the running turn by itself."""
        spec = self.spec
        joins = host is not None and host.place.source is Source.CODEX and self.place.source is Source.CALLER
        return When.STEER if joins and spec.is_plain and spec.when is When.QUEUE else spec.when

    def sent(self) -> None:
        """The core is asked to add its prompt to the turn that it joins."""
        self._is_sent = True

    @property
    def may_be_read(self) -> bool:
        """A core has its prompt, or had it when it ended."""
        return self._is_sent or self.core is not None

    def part(self, *, is_said: bool) -> None:
        """Its prompt did not steer: it becomes a turn of its own, without a text if the conversation contains it."""
        self.joins, self.has_parted, self._is_sent = None, True, False
        self.spec = replace(self.spec, is_said=is_said)

    def give_up(self, why: str) -> None:
        """It will not begin, and fails for a reason of its own. A core that has its prompt may still use it."""
        self.joins, self.has_parted = None, True
        self.record.fail(why)

    def share_end(self, tell: Callable[[], None]) -> None:
        """It ends with the turn that it has joined, whose answer its callers get; `tell` is called at that end."""
        assert self.joins is not None
        self._shares_end = self.delivered = True
        self.joins.when_ended(tell)

    def when_ended(self, tell: Callable[[], None]) -> None:
        if self._ended.done():
            tell()
        else:
            self._ended.add_done_callback(lambda _: tell())

    def thread_named(self, thread_id: str) -> None:
        """Its thread has received its own id."""
        self.thread_id = thread_id
        resolve(self._named, None)

    async def until_named(self) -> None:
        """Wait until its thread has its own id, or the turn has ended."""
        either: list[asyncio.Future[Any]] = [self._named, self._ended]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)

    def confirm(self) -> None:
        """The core has put its prompt into the conversation."""
        if not self._started.done():
            self._started.set_result(None)

    async def until_started(self) -> bool:
        """Wait until the conversation contains its prompt, or the turn has ended. False: it never contained it."""
        either: list[asyncio.Future[Any]] = [self._started, self._ended]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        return self._started.done()

    def given_to(self, core: Core) -> None:
        """This core is asked to start it."""
        self.core = core

    def next_question_id(self) -> str:
        """The id for life of what Codex asks next in it."""
        self._questions += 1
        return f"{self.name}/question-{self._questions}"

    def ask(self) -> None:
        self.is_asked = True

    def begin_stop(self) -> asyncio.Future[None]:
        """It is being interrupted; the future is to be resolved when its commands are dead."""
        self.stopped = asyncio.get_running_loop().create_future()
        return self.stopped

    @property
    def untold(self) -> Tokens | None:
        """What it has used, and turns of its goal before it, if nobody has been told."""
        return None if self.delivered or self._steered_by else self.outcome.usage_to_tell

    def mark_delivered(self) -> None:
        self.delivered = True

    def attribute_to(self, caller: str) -> None:
        """Name the caller that asked for it; the first one stays. A turn that it joins is this caller's, too."""
        if not self.caller and self._led_to is not None:
            self._led_to.attribute_to(caller)
        self.caller = self.caller or caller
        if self.joins is not None:
            self.joins.steered_by(caller)

    def lead_to(self, turn: Turn) -> None:
        """Codex goes on with that turn by itself, for the caller of this one, who may be named later."""
        self._led_to = turn
        if self.caller:
            turn.attribute_to(self.caller)

    def steered_by(self, caller: str) -> None:
        self._steered_by |= {caller}

    def is_for(self, caller: str) -> bool:
        """Whether this caller asked for it, or steered it."""
        return caller == self.caller or caller in self._steered_by

    @property
    def is_wanted(self) -> bool:
        """A caller asked for it, or steered it."""
        return bool(self.caller or self._steered_by)

    def set_purpose(self, purpose: str) -> None:
        self.purpose = purpose

    def limit_time(self, seconds: float, out_of_time: Callable[[], None]) -> None:
        """Call this unless it has ended by then. It has one limit at a time, the last one set."""
        if self._limit is not None:
            self._limit.cancel()
        if not self._ended.done():
            self._limit = asyncio.get_running_loop().call_later(seconds, out_of_time)

    def stop_after(self, seconds: float, cancel: Callable[[], None]) -> None:
        """Cancel it for running longer than its time limit."""
        self.limit_time(seconds, partial(_stop, partial(self.record.out_of_time, seconds), cancel))

    def read_error(self, error: ErrorReported) -> ErrorReported | TurnEnded:
        """The error, or the end of a review that Codex refuses: it then announces neither its start nor its end."""
        is_refusal = self.spec.review is not None and not self.record.has_begun and not error.will_retry
        return TurnEnded(error.turn_id, "failed", error.message) if is_refusal else error

    def own_fact(self, fact: TurnFact) -> TurnFact:
        """The fact of a review; as its own, if it is about the turn within."""
        if isinstance(fact, TurnStarted):
            root = fact.root_turn_id
            if root not in ("", fact.turn_id) and self.place.turn_id in ("", root):
                self.inner_id = fact.turn_id
                return TurnStarted(root, root)
        return replace(fact, turn_id=self.place.turn_id) if self.inner_id and fact.turn_id == self.inner_id else fact

    def add(self, fact: Fact) -> bool:
        """Record the fact, and tell the audience of another activity. True if there is, or was, trouble."""
        before, had_trouble = self.record.activity, bool(self.record.trouble)
        self.record.add(fact)
        if isinstance(fact, ItemEnded):
            self.item_ended.set()
        if not self._started.done() and isinstance(fact, WITH_PROMPT):
            self.confirm()
        if self.record.activity != before:
            self.audience.activity_changed(self.record.activity)
        return had_trouble or bool(self.record.trouble)

    def locate(self, where: str) -> None:
        """Its model is looked for there, in words."""
        self.record.locate(where)
        if self.record.trouble:
            self.audience.activity_changed(self.record.activity)

    def limit_trouble(self, seconds: float, cancel: Callable[[], None]) -> None:
        """Cancel it when the model has been unreachable for this long; to be called when it is or was. 0: never."""
        in_trouble = bool(self.record.trouble) and not self._ended.done()
        if not in_trouble and self._patience is not None:
            self._patience.cancel()
            self._patience = None
        elif in_trouble and self._patience is None and seconds:
            give_up = partial(_stop, partial(self.record.out_of_reach, seconds), cancel)
            self._patience = asyncio.get_running_loop().call_later(seconds, give_up)

    def conclude(self) -> None:
        """It has ended: resolve all waiting callers."""
        for timer in (self._limit, self._patience):
            if timer is not None:
                timer.cancel()
        if not self._ended.done():
            outcome = (
                self.record.outcome(self.thread_id, time.monotonic()) if self.answer is self else self.answer.outcome
            )
            self._log_end(outcome)
            self._ended.set_result(outcome)
            self._waiters.tell()

    def _log_end(self, outcome: Outcome) -> None:
        name = self.place.turn_id or "that never began"
        failure = self.answer.record.failure or ""
        why = f": {failure[:LOGGED_CHARS]}" if outcome.status is Status.FAILED else ""
        level = logging.WARNING if self.record.timed_out else logging.INFO
        ended = "timed out" if self.record.timed_out else outcome.status
        with about_only(self.subject):
            logger.log(level, "turn %s %s after %.1f s%s", name, ended, outcome.seconds, why)

    async def wait(self, timeout: float | None = None) -> Outcome:
        """Wait for the end, at most `timeout` seconds; return the outcome so far."""
        await asyncio.wait([self._ended], timeout=timeout)
        return self.outcome

    def watch(self, waiter: Waiter) -> None:
        """Resolve this future when it ends; at once if it has ended."""
        if self._ended.done():
            resolve(waiter, None)
        else:
            self._waiters.add(waiter)


class EndedTurns:
    """The newest ended turns of a thread. Beyond the limit, turns whose outcome was delivered are dropped first."""

    def __init__(self) -> None:
        self._turns: list[Turn] = []

    def __iter__(self) -> Iterator[Turn]:
        return iter(self._turns)

    def add(self, turn: Turn) -> None:
        self._turns.append(turn)
        if len(self._turns) > OUTCOMES_KEPT:
            self._turns.remove(next((ended for ended in self._turns if ended.delivered), self._turns[0]))

    def find(self, turn_id: str) -> Turn | None:
        return next((turn for turn in reversed(self._turns) if turn_id and turn.place.turn_id == turn_id), None)


class HasTurns(Protocol):
    """A thread."""

    def unfinished(self) -> list[Turn]:
        """Turns that run or wait."""


def tokens_so_far(threads: Iterable[HasTurns]) -> int:
    """What turns of these threads have used that have not ended."""
    return sum(turn.record.tokens for thread in threads for turn in thread.unfinished() if turn.joins is None)


def _stop(note_reason: Callable[[], None], cancel: Callable[[], None]) -> None:
    note_reason()
    cancel()
