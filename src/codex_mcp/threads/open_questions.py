"""Questions of Codex that wait for a decision.

`Board` belongs to the server: every question that Codex waits for, and the receipts of those that it waited for.
`OpenQuestions` belongs to a thread: it has its audience asked, and waits for the end of the question at the board.
`ParkedQuestions` belongs to a turn: the questions that are listed for a client to answer, and those that a client is
being asked. A client of the stateless era cannot be asked. It receives "input required" and sends its answers with
its next request. Other clients are asked directly; what they cannot be asked is listed as well.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import Any, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from codex_mcp.base.futures import Waiter, Waiters, resolve
from codex_mcp.base.tasks import TaskSet
from codex_mcp.threads.questions.board import (
    Answer,
    AskedOf,
    Changed,
    Entries,
    Entry,
    Receipt,
    State,
    Verdict,
    Via,
    denied,
    receipt_of,
    told,
    verdict_on,
)
from codex_mcp.threads.questions.questions import Question
from codex_mcp.wire.jsonrpc import Id

logger = logging.getLogger(__name__)

Listener: TypeAlias = Callable[[Entry], None]
"""Told of a question; it must not raise, and must not wait."""

Ask: TypeAlias = Callable[[Question], Coroutine[Any, Any, Answer]]


class _Waiting(Struct, frozen=True):
    """Who waits for the end of a question, and whom it is being asked of."""

    closed: Listener
    asked_of: Callable[[str], tuple[AskedOf, ...]]


class Board:
    """The questions of all threads of a server. The first answer closes a question, whoever gives it."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._entries = Entries()
        self._waiting: dict[str, _Waiting] = {}
        self._listeners: list[Listener] = []

    def open_questions(self) -> list[Entry]:
        """Those that wait for an answer, in the order in which Codex asked."""
        return [self._current(entry) for entry in self._entries.open_entries()]

    def closed_questions(self, most: int, most_bytes: int) -> list[Entry]:
        """The newest of those that were closed within a day, the newest first."""
        return self._entries.closed_entries(most, most_bytes, self._clock())

    def find(self, question_id: str) -> Entry | None:
        """An open question, or one that was closed within a day, with its receipt."""
        entry = self._entries.find(question_id, self._clock())
        return None if entry is None else self._current(entry)

    def decide(
        self, question_id: str, answer: Answer, *, digest: str | None = None, key: str = ""
    ) -> Verdict | Changed:
        """Answer a question. A repetition with the same `key` gets the same verdict.

        `digest` is of what the giver was shown: if Codex asks something else, the question stays open.
        """
        now = self._clock()
        receipt = receipt_of(answer, now, key)
        entry, used = self._entries.decide(question_id, receipt, digest)
        if entry is None or (entry.receipt is not None and not used):
            return verdict_on(entry, question_id, answer, key, now)
        if not used:
            return Changed(entry.digest)
        self._tell_closed(entry)
        return told(receipt, now, used=True)

    def watch(self, listener: Listener) -> Callable[[], None]:
        """Call this for each question that is opened or closed, until the returned function is called."""
        self._listeners.append(listener)

        def stop() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return stop

    def open(self, entry: Entry, closed: Listener, asked_of: Callable[[str], tuple[AskedOf, ...]]) -> None:
        """Codex asks; `closed` is told the end of the question, in the moment in which it ends."""
        self._entries.add(entry)
        self._waiting[entry.id] = _Waiting(closed, asked_of)

    def tell_opened(self, question_id: str) -> None:
        """Tell the listeners of a question, once it is known whom it is being asked of."""
        entry = self.find(question_id)
        if entry is not None and entry.receipt is None:
            self._tell(entry)

    def close(self, question_id: str, state: State, via: Via = Via.CODEX) -> None:
        """Its end without an answer. A question that is closed already is left as it is."""
        entry = self._entries.close(question_id, Receipt(state, via, self._clock()))
        if entry is not None:
            self._tell_closed(entry)

    def now(self) -> float:
        return self._clock()

    def _current(self, entry: Entry) -> Entry:
        waiting = self._waiting.get(entry.id)
        return entry if waiting is None else replace(entry, asked_of=waiting.asked_of(entry.id))

    def _tell_closed(self, entry: Entry) -> None:
        self._waiting.pop(entry.id).closed(entry)
        self._tell(entry)

    def _tell(self, entry: Entry) -> None:
        for listener in tuple(self._listeners):
            listener(entry)


class OpenQuestions:
    """The questions of one thread."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._asking: dict[Id, str] = {}
        self._tasks = TaskSet()

    def __len__(self) -> int:
        return len(self._asking)

    async def ask(
        self, request_id: Id, entry: Entry, parked: ParkedQuestions, ask: Ask, closed: Listener = lambda _: None
    ) -> Receipt:
        """Put a question on the board and have `ask` answer it, until it is closed there; `closed` is told that."""
        question = entry.question
        logger.info("asked: %s %s", question.kind, question.item_id)
        end: asyncio.Future[Receipt] = asyncio.get_running_loop().create_future()

        def note_end(entry: Entry) -> None:
            assert entry.receipt is not None
            parked.drop(question.id)
            if not end.done():
                end.set_result(entry.receipt)
            closed(entry)

        self._board.open(entry, note_end, parked.asked_of)
        self._asking[request_id] = question.id
        asking = self._tasks.spawn(ask(question), name=f"question {question.id}")
        asyncio.get_running_loop().call_soon(self._board.tell_opened, question.id)  # after the first step of `asking`
        asking.add_done_callback(lambda _: self._asked(question.id, asking))
        try:
            receipt = await end
        finally:
            self._asking.pop(request_id, None)
            asking.cancel()
            self._board.close(question.id, State.LOST)  # nobody waits for the answer any more
        # Here, so that the line names the session of the turn, and not that of whoever has decided.
        how = "answered" if receipt.state is State.DECIDED else receipt.state
        logger.info("%s: %s %s, %s", how, question.kind, question.item_id, receipt.word)
        return receipt

    def withdraw(self, request_id: Id) -> None:
        """Codex no longer waits for an answer."""
        if (question_id := self._asking.get(request_id)) is not None:
            self._board.close(question_id, State.WITHDRAWN)

    def _asked(self, question_id: str, asking: asyncio.Task[Answer]) -> None:
        if asking.cancelled():
            self._board.close(question_id, State.WITHDRAWN)
            return
        answer = denied("the question could not be asked") if asking.exception() else asking.result()
        self._board.decide(question_id, answer)


class _Open(Struct, eq=False):
    """Of the turns of one thread that have begun."""

    listed: dict[str, Question] = field(default_factory=dict)
    asking: dict[str, tuple[Question, AskedOf]] = field(default_factory=dict)
    waiters: Waiters = field(default_factory=Waiters)
    changed: Callable[[], None] = lambda: None

    def add(self, others: _Open) -> None:
        """What is open there is open here as well, and their listener is told from now on."""
        self.listed.update(others.listed)
        self.asking.update(others.asking)
        self.waiters.join(others.waiters)
        self.on_change(others.changed)

    def on_change(self, listener: Callable[[], None]) -> None:
        self.changed = listener


class ParkedQuestions:
    """The questions of one turn that are listed, or that a client is being asked."""

    def __init__(self) -> None:
        self._now = _Open()

    def take_over(self, before: ParkedQuestions) -> None:
        """The turn of those has ended. What sub-agents still ask in it is open here as well, until it is closed."""
        mine, self._now = self._now, before._now
        if mine is not self._now:
            self._now.add(mine)
            if self._now.listed:
                self._now.waiters.tell()
                self._now.changed()

    @property
    def open(self) -> Mapping[str, Question]:
        """The listed questions that have no answer yet, by their ids."""
        return dict(self._now.listed)

    @property
    def asked(self) -> list[Question]:
        """The questions that the client was asked directly and has not answered yet."""
        return [question for question, asked_of in self._now.asking.values() if asked_of.via is not Via.INPUT_REQUIRED]

    def asked_of(self, question_id: str) -> tuple[AskedOf, ...]:
        """Whom this question is being asked of."""
        return (self._now.asking[question_id][1],) if question_id in self._now.asking else ()

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call this whenever a question is listed or removed from the list."""
        self._now.on_change(listener)

    async def park(self, question: Question) -> Answer:
        """List the question until it is closed at the board, which cancels this."""
        never: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        with self.listed(question):
            return await never

    @contextlib.contextmanager
    def listed(self, question: Question) -> Iterator[None]:
        """List the question within this block, or until it is dropped."""
        self._now.listed[question.id] = question
        self._now.waiters.tell()
        self._now.changed()
        try:
            yield
        finally:
            self.drop(question.id)

    @contextlib.contextmanager
    def asking(self, question: Question, client: str, via: Via = Via.ELICITATION) -> Iterator[None]:
        """The client is being asked within this block."""
        self._now.asking[question.id] = question, AskedOf(client, via, time.time())
        try:
            yield
        finally:
            self._now.asking.pop(question.id, None)

    def drop(self, question_id: str) -> None:
        """It was closed: it is not listed any more, and no client is being asked."""
        self._now.asking.pop(question_id, None)
        if self._now.listed.pop(question_id, None) is not None:
            self._now.changed()

    def watch(self, waiter: Waiter) -> None:
        """Resolve this future when a question is listed; at once if there is one already."""
        if self._now.listed:
            resolve(waiter, None)
        else:
            self._now.waiters.add(waiter)

    def watch_next(self, waiter: Waiter) -> None:
        """Resolve this future when another question is listed."""
        self._now.waiters.add(waiter)
