"""Answers what the core asks in a thread: the audience of the running turn decides, and Codex is told."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Coroutine, Iterable, Mapping
from functools import partial
from typing import Any, Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.base.logs import stay_about
from codex_mcp.codex.core import CoreError, Event
from codex_mcp.threads.context import ThreadContext
from codex_mcp.threads.events.translator import EventTranslator
from codex_mcp.threads.loading import Loading
from codex_mcp.threads.open_questions import OpenQuestions
from codex_mcp.threads.questions.approvals import (
    core_answer,
    ending_denial,
    explanation,
    must_interrupt,
    refusal,
    told_of_refusal,
)
from codex_mcp.threads.questions.board import Entry, Receipt, State
from codex_mcp.threads.questions.decisions import Aborted, is_approval
from codex_mcp.threads.questions.questions import Question, question_from
from codex_mcp.threads.turn import Turn
from codex_mcp.wire.app.questions import Asked, UnreadableQuestion
from codex_mcp.wire.jsonrpc import Id

logger = logging.getLogger(__name__)

MOST_WARNINGS: Final = 10
"""Of one turn, before refusals are no longer told: an agent may ask hundreds of times."""


class Whose(Struct, frozen=True):
    """Whose question it is."""

    principal: str
    agent: str = ""
    asker: str = ""
    """The sub-agent that asks it; empty if the thread itself asks."""


class AskingThread(Protocol):
    loading: Loading

    @property
    def current(self) -> Turn | None: ...


class Answering:
    """The questions of one thread. `decided` is told the end of each, `cancel` stops a turn.

    `denial_ends`: a denied command or patch ends its turn.
    """

    def __init__(
        self,
        translator: EventTranslator,
        publish: Callable[[Iterable[Event]], None],
        decided: Callable[[Turn, Receipt], None],
        cancel: Callable[[Turn], None],
        context: ThreadContext,
    ) -> None:
        self._translator = translator
        self._publish = publish
        self._decided = decided
        self._cancel = cancel
        self._denial_ends = context.settings.denial_ends_turn
        self._timeout = context.settings.approval_timeout
        self._board = context.board
        self._questions = OpenQuestions(context.board)

    @property
    def open(self) -> int:
        return len(self._questions)

    def withdraw(self, request_id: Id) -> None:
        self._questions.withdraw(request_id)

    def answer(self, request_id: Id, asked: Asked, thread: AskingThread, whose: Whose) -> Coroutine[Any, Any, object]:
        """The answer to a question that the core asks in the current turn of the thread, or that a sub-agent asks."""
        return self._answer(request_id, asked, thread, thread.current, whose)

    async def _answer(
        self, request_id: Id, asked: Asked, thread: AskingThread, turn: Turn | None, whose: Whose
    ) -> object:
        if whose.asker:  # the turn that ran when it asked may have ended: then another one waits for it
            turn = thread.current
        question = question_from(asked, self._translator.changes_of)
        if isinstance(question, UnreadableQuestion) or turn is None or turn.ended or turn.record.is_spoiled:
            why = question.why if isinstance(question, UnreadableQuestion) else "no turn runs that could wait for it"
            logger.warning("refused a question of thread %s (%s): %s", asked.thread_id, asked.method, why)
            return refusal(asked.method)
        stay_about(turn.subject)
        thread_id = turn.thread_id or question.thread_id  # callers know the thread of its parent only
        question = replace(question, id=turn.next_question_id(), thread_id=thread_id, asker=whose.asker)
        receipt = await self._ask(request_id, question, turn, whose)
        decision = receipt.decision
        if decision is None:
            return refusal(asked.method)  # the core withdrew the question and ignores this answer
        refused = told_of_refusal(question, decision, expired=receipt.state is State.EXPIRED)
        if refused is not None and len(turn.record.warnings) < MOST_WARNINGS:
            turn.record.warn((*turn.record.warnings, refused))
        if self._denial_ends and (ending := ending_denial(question, decision)) is not None:
            turn.record.stop_because(ending)
            decision = Aborted()
        self._publish(self._translator.answered(asked, approved=is_approval(decision)))
        if must_interrupt(question, decision):
            self._cancel(turn)
        if (told := explanation(question, decision)) is not None and (core := thread.loading.core) is not None:
            with contextlib.suppress(CoreError):  # before the answer, so that the model reads it in time
                await core.tell_model(asked.thread_id or turn.thread_id, told)
        return core_answer(question, decision)

    async def _ask(self, request_id: Id, question: Question, turn: Turn, whose: Whose) -> Receipt:
        now = self._board.now()
        entry = Entry(
            question=question,
            thread=turn.thread_id,
            principal=whose.principal,
            agent=whose.agent,
            asked_at=now,
            deadline=now + self._timeout,
            request=request_id,
        )

        def closed(entry: Entry) -> None:
            assert entry.receipt is not None
            self._decided(turn, entry.receipt)

        ask = partial(turn.audience.ask, turn=turn)
        return await self._questions.ask(request_id, entry, turn.parked, ask, closed)


async def refuse(method: str) -> Mapping[str, object]:
    """The answer to a question that nobody is asked."""
    return refusal(method)
