"""The questions of one thread that wait for a person. Each is answered once, or withdrawn by the core."""

from __future__ import annotations

import asyncio
import logging

from codex_mcp.base.tasks import TaskSet
from codex_mcp.threads.questions.decisions import Decision, Denied, word_for
from codex_mcp.threads.questions.questions import Question
from codex_mcp.threads.turn import Audience
from codex_mcp.wire.jsonrpc import Id

logger = logging.getLogger(__name__)


class OpenQuestions:
    """What the core waits for."""

    def __init__(self) -> None:
        self._asking: dict[Id, asyncio.Task[Decision]] = {}
        self._tasks = TaskSet()

    def __len__(self) -> int:
        """How many wait."""
        return len(self._asking)

    async def ask(self, question_id: Id, question: Question, audience: Audience) -> Decision | None:
        """Ask the audience; None if the core withdrew the question meanwhile."""
        logger.info("asked: %s %s", question.kind, question.item_id)
        asking = self._tasks.spawn(audience.ask(question), name=f"question {question_id}")
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
        """The core no longer waits; nobody needs to answer."""
        asking = self._asking.pop(question_id, None)
        if asking is not None:
            asking.cancel()
