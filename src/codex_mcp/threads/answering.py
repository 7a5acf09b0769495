"""Answers what the core asks in a thread: the audience of the running turn decides, and Codex is told."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from msgspec.structs import replace

from codex_mcp.base.logs import stay_about
from codex_mcp.codex.core import Core, CoreError
from codex_mcp.codex.events.translator import Event, EventTranslator
from codex_mcp.threads.open_questions import OpenQuestions
from codex_mcp.threads.questions.approvals import (
    core_answer,
    ending_denial,
    explanation,
    must_interrupt,
    refusal,
    told_of_refusal,
)
from codex_mcp.threads.questions.decisions import Aborted, is_approval, word_for
from codex_mcp.threads.questions.questions import question_from
from codex_mcp.threads.turn import Turn
from codex_mcp.wire.app.questions import Asked, UnreadableQuestion
from codex_mcp.wire.jsonrpc import Id

logger = logging.getLogger(__name__)

MOST_WARNINGS: Final = 10
"""Of one turn, before refusals are no longer told: an agent may ask hundreds of times."""


class Answering:
    """The questions of one thread. `decided` is told of each decision, `cancel` stops a turn.

    `denial_ends`: a denied command or patch ends its turn.
    """

    def __init__(
        self,
        translator: EventTranslator,
        publish: Callable[[Iterable[Event]], None],
        decided: Callable[[Turn, str], None],
        cancel: Callable[[Turn], None],
        *,
        denial_ends: bool = False,
    ) -> None:
        self._translator = translator
        self._publish = publish
        self._decided = decided
        self._cancel = cancel
        self._denial_ends = denial_ends
        self._questions = OpenQuestions()

    @property
    def open(self) -> int:
        return len(self._questions)

    def withdraw(self, question_id: Id) -> None:
        self._questions.withdraw(question_id)

    async def answer(
        self, question_id: Id, asked: Asked, turn: Turn | None, core: Core | None, asker: str = ""
    ) -> object:
        """The answer to a question that the core asks in this turn; `asker` names the sub-agent that asks it."""
        question = question_from(asked, self._translator.changes_of)
        if isinstance(question, UnreadableQuestion) or turn is None or turn.ended or turn.record.is_spoiled:
            why = question.why if isinstance(question, UnreadableQuestion) else "no turn runs that could wait for it"
            logger.warning("refused a question of thread %s (%s): %s", asked.thread_id, asked.method, why)
            return refusal(asked.method)
        stay_about(turn.subject)
        if asker:  # callers know the thread of its parent only
            question = replace(question, thread_id=turn.thread_id, asker=asker)
        decision = await self._questions.ask(question_id, question, partial(turn.audience.ask, turn=turn))
        self._decided(turn, "withdrawn" if decision is None else word_for(decision))
        if decision is None:
            return refusal(asked.method)  # the core withdrew the question and ignores this answer
        refused = told_of_refusal(question, decision)
        if refused is not None and len(turn.record.warnings) < MOST_WARNINGS:
            turn.record.warn((*turn.record.warnings, refused))
        if self._denial_ends and (ending := ending_denial(question, decision)) is not None:
            turn.record.stop_because(ending)
            decision = Aborted()
        self._publish(self._translator.answered(asked, approved=is_approval(decision)))
        if must_interrupt(question, decision):
            self._cancel(turn)
        if (told := explanation(question, decision)) is not None and core is not None:
            with contextlib.suppress(CoreError):  # before the answer, so that the model reads it in time
                await core.tell_model(asked.thread_id or turn.thread_id, told)
        return core_answer(question, decision)
