"""Questions of one turn: those on the list of open questions, and those that a client was asked.

A client of the stateless era cannot be asked; it must be answered "input required", and brings the answers with its
next request. Other clients are asked, and what they cannot be asked is listed for others to answer.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Mapping

from codex_mcp.base.futures import Waiter, Waiters, resolve
from codex_mcp.threads.questions.decisions import Decision
from codex_mcp.threads.questions.questions import Question


class ParkedQuestions:
    """The open ones, each under a key of its own."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[Question, asyncio.Future[Decision]]] = {}
        self._count = 0
        self._asked: list[Question] = []
        self._waiters = Waiters()
        self.changed: Callable[[], None] = lambda: None
        """Told when a question has come, and when one is gone."""

    @property
    def open(self) -> Mapping[str, Question]:
        """What waits for an answer."""
        return {key: question for key, (question, answer) in self._open.items() if not answer.done()}

    @property
    def asked(self) -> list[Question]:
        """What the client was asked, and has not answered yet."""
        return list(self._asked)

    async def park(self, question: Question) -> Decision:
        """Wait for the decision. Cancelled: the question is no longer open."""
        with self.listed(question) as answer:
            return await answer

    @contextlib.contextmanager
    def listed(self, question: Question) -> Iterator[asyncio.Future[Decision]]:
        """List the question within this block; the future holds the decision once there is one."""
        self._count += 1
        key = f"question-{self._count}"
        answer: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        self._open[key] = (question, answer)
        self._waiters.tell()
        self.changed()
        try:
            yield answer
        finally:
            del self._open[key]
            self.changed()

    @contextlib.contextmanager
    def asking(self, question: Question) -> Iterator[None]:
        """The client is asked within this block."""
        self._asked.append(question)
        try:
            yield
        finally:
            self._asked.remove(question)

    def answer(self, key: str, decision: Decision) -> None:
        """Somebody has decided. A key that is not open any longer changes nothing."""
        if key in self._open:
            resolve(self._open[key][1], decision)

    def answer_all(self, decision: Decision) -> None:
        """Nobody will come for them any more."""
        for key in list(self._open):
            self.answer(key, decision)

    def watch(self, waiter: Waiter) -> None:
        """Tell this one when a question waits; at once if one does already."""
        if self.open:
            resolve(waiter, None)
        else:
            self._waiters.add(waiter)

    def watch_next(self, waiter: Waiter) -> None:
        """Tell this one when another question comes."""
        self._waiters.add(waiter)
