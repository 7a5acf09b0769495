"""The audience of a turn that Codex began by itself in a thread that has had no caller yet."""

from __future__ import annotations

import asyncio

from codex_mcp.base.logs import Subject
from codex_mcp.codex.core import Event
from codex_mcp.threads.questions.board import Answer, expired
from codex_mcp.threads.questions.questions import Question
from codex_mcp.threads.turn import Turn


class NoCaller:
    """It shows nothing, and lists every question."""

    label = ""

    def __init__(self, principal: str, approval_timeout: float) -> None:
        self.subject = Subject(principal=principal)
        self._approval_timeout = approval_timeout

    def event_happened(self, thread_id: str, event: Event) -> None:
        """Ignored."""

    def activity_changed(self, activity: str) -> None:
        """Ignored."""

    async def ask(self, question: Question, turn: Turn) -> Answer:
        try:
            async with asyncio.timeout(self._approval_timeout):
                return await turn.parked.park(question)
        except TimeoutError:
            return expired(self._approval_timeout)
