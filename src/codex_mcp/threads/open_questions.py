"""Questions of Codex that wait for a decision.

`OpenQuestions` belongs to a thread: every question that Codex waits for, until it is answered or withdrawn.
`ParkedQuestions` belongs to a turn: the questions that are listed for a client to answer. A client of the stateless era
cannot be asked. It receives "input required" and sends its answers with its next request. Other clients are asked
directly; what they cannot be asked is listed as well.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import Any

from codex_mcp.base.futures import Waiter, Waiters, in_time, resolve
from codex_mcp.base.tasks import TaskSet
from codex_mcp.threads.questions.decisions import Decision, Denied, word_for
from codex_mcp.threads.questions.questions import Question
from codex_mcp.wire.jsonrpc import Id

logger = logging.getLogger(__name__)


class OpenQuestions:
    """The questions of one thread."""

    def __init__(self) -> None:
        self._asking: dict[Id, asyncio.Task[Decision]] = {}
        self._tasks = TaskSet()

    def __len__(self) -> int:
        return len(self._asking)

    async def ask(
        self, question_id: Id, question: Question, ask: Callable[[Question], Coroutine[Any, Any, Decision]]
    ) -> Decision | None:
        """Have `ask` decide; None if Codex withdraws the question first."""
        logger.info("asked: %s %s", question.kind, question.item_id)
        asking = self._tasks.spawn(ask(question), name=f"question {question_id}")
        self._asking[question_id] = asking
        try:
            await asyncio.wait([asking])
        finally:
            self._asking.pop(question_id, None)
            asking.cancel()
        if asking.cancelled():
            logger.info("withdrawn: %s %s", question.kind, question.item_id)
            return None
        decision = Denied("the question could not be asked") if asking.exception() else asking.result()
        logger.info("answered: %s %s, %s", question.kind, question.item_id, word_for(decision))
        return decision

    def withdraw(self, question_id: Id) -> None:
        """Codex no longer waits for an answer."""
        asking = self._asking.pop(question_id, None)
        if asking is not None:
            asking.cancel()


class ParkedQuestions:
    """The questions of one turn, each listed under its own key."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[Question, asyncio.Future[Decision]]] = {}
        self._count = 0
        self._asked: list[Question] = []
        self._waiters = Waiters()
        self._changed: Callable[[], None] = lambda: None

    @property
    def open(self) -> Mapping[str, Question]:
        """The listed questions that have no answer yet."""
        return {key: question for key, (question, answer) in self._open.items() if not answer.done()}

    @property
    def asked(self) -> list[Question]:
        """The questions that the client was asked directly and has not answered yet."""
        return list(self._asked)

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call this whenever a question is listed or removed from the list."""
        self._changed = listener

    async def park(self, question: Question, limit: asyncio.Timeout) -> Decision:
        """List the question until it is decided, within a block of `limit`; cancelling removes it."""
        with self.listed(question) as answer:
            return await in_time(answer, limit)

    @contextlib.contextmanager
    def listed(self, question: Question) -> Iterator[asyncio.Future[Decision]]:
        """List the question within this block; the future receives the decision."""
        self._count += 1
        key = f"question-{self._count}"
        answer: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        self._open[key] = (question, answer)
        self._waiters.tell()
        self._changed()
        try:
            yield answer
        finally:
            del self._open[key]
            self._changed()

    @contextlib.contextmanager
    def asking(self, question: Question) -> Iterator[None]:
        """The client is asked directly within this block."""
        self._asked.append(question)
        try:
            yield
        finally:
            self._asked.remove(question)

    def answer(self, key: str, decision: Decision) -> None:
        """Decide a listed question. Only the first decision counts; an unknown key changes nothing."""
        if key in self._open:
            resolve(self._open[key][1], decision)

    def answer_all(self, decision: Decision) -> None:
        for key in list(self._open):
            self.answer(key, decision)

    def watch(self, waiter: Waiter) -> None:
        """Resolve this future when a question is listed; at once if there is one already."""
        if self.open:
            resolve(waiter, None)
        else:
            self._waiters.add(waiter)

    def watch_next(self, waiter: Waiter) -> None:
        """Resolve this future when another question is listed."""
        self._waiters.add(waiter)
