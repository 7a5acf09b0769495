"""The audience of a turn that mail began. It shows nothing, and lists every question for `codex_approvals`."""

from __future__ import annotations

import asyncio

from codex_mcp.base.logs import Subject
from codex_mcp.codex.core import Event
from codex_mcp.team.roster import Member
from codex_mcp.threads.questions.board import Answer, denied, expired
from codex_mcp.threads.questions.questions import Question
from codex_mcp.threads.turn import Turn


class MailAudience:
    label = ""

    def __init__(self, member: Member, approval_timeout: float, hops: int) -> None:
        """`hops` are those of the mail that is sent in the turn."""
        self.hops = hops
        self._approval_timeout = approval_timeout
        self.subject = Subject(principal=member.agent.principal)

    def event_happened(self, thread_id: str, event: Event) -> None:
        """Ignored."""

    def activity_changed(self, activity: str) -> None:
        """Ignored."""

    async def ask(self, question: Question, turn: Turn) -> Answer:
        if self._approval_timeout == 0:
            return denied("this turn was begun by mail, and no person is asked")
        try:
            async with asyncio.timeout(self._approval_timeout):
                return await turn.parked.park(question)
        except TimeoutError:
            return expired(self._approval_timeout)
