"""Gives unread mail to agents: after each turn, and when an inbox changes. One delivery at a time per agent.

Nothing runs until an agent that wants mail has had a turn, and nothing but a look in each poll interval until its team
has a folder.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Collection
from typing import Final

from codex_mcp.base.errors import Explained
from codex_mcp.base.settings.team import TeamSettings
from codex_mcp.base.tasks import TaskSet
from codex_mcp.mail.address import Address
from codex_mcp.team.mail.deliveries import PURPOSE, STEERED, Deliveries, DeliveryParts
from codex_mcp.team.mail.inbox_watch import InboxWatch
from codex_mcp.team.mail.mail_audience import MailAudience
from codex_mcp.team.roster import Member
from codex_mcp.threads.questions.board import Receipt
from codex_mcp.threads.thread import Thread
from codex_mcp.threads.turn import Turn
from codex_mcp.threads.turn_queue import Source

logger = logging.getLogger(__name__)

FIRST_DELAY: Final = 1.0
LONGEST_DELAY: Final = 60.0
"""Seconds after which mail that could not be delivered is tried again; the delay doubles with each failure."""

END_GRACE: Final = 2.0
"""Seconds that a delivery may take to record its outcome when the server ends."""


class Injection:
    """Listens to all threads."""

    def __init__(self, settings: TeamSettings, parts: DeliveryParts, watch: InboxWatch) -> None:
        self._settings = settings
        self._mail = parts.mail
        self._roster = parts.mail.roster
        self._deliveries = Deliveries(settings, parts, self)
        self._busy: set[str] = set()
        """Agents with a delivery."""
        self._awaited: set[str] = set()
        """Agents that have become idle, or got mail, since their delivery began to look."""
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._ending = asyncio.Event()
        self._watch = watch
        watch.add(self)
        self._tasks = TaskSet()
        self.counts = self._deliveries.counts

    def turn_submitted(self, thread: Thread, turn: Turn) -> None:
        if turn.has_parted and turn.purpose == STEERED:  # a turn of its own now
            turn.set_purpose(PURPOSE)
        member = self._roster.of_thread(thread.id)
        if member is not None and not self._ending.is_set():
            self._mail.session_team.begin(self._wants_mail)
        if member is not None and turn.place.source is Source.CALLER:
            self._deliveries.prompted(member)
        if member is not None and self.is_wanted_by(member):
            self._watch.begin()

    def why_not(self, thread: Thread, turn: Turn) -> str:
        return ""

    def why_no_more(self, thread: Thread, ahead: int) -> str:
        return ""

    def turn_begun_by_codex(self, thread: Thread) -> None:
        """Ignored."""

    def tokens_counted(self, thread: Thread) -> None:
        """Ignored."""

    def tokens_used(self, thread: Thread, tokens: int) -> None:
        """Ignored."""

    def turn_concluded(self, thread: Thread, turn: Turn) -> None:
        self._thread_changed(thread)

    def turn_left(self, thread: Thread) -> None:
        self._thread_changed(thread)

    def question_decided(self, thread: Thread, turn: Turn, receipt: Receipt) -> None:
        """Ignored."""

    def hops_of(self, member: Member) -> int:
        """The hops of mail that this agent sends now: more than those of the mail in its turn, if there is any."""
        thread = member.thread
        turn = None if thread is None else thread.current
        if thread is None or turn is None:
            return 0
        steering = (each for each in thread.unfinished() if each.joins is turn)
        audiences = [each.audience for each in (turn, *steering)]
        return max((each.hops for each in audiences if isinstance(each, MailAudience)), default=0)

    async def held(self, member: Member) -> int:
        """How many unread messages of an agent are held back by the loop protection. Raises Explained."""
        return await self._deliveries.held(member) if self._wants_mail(member) else 0

    def inbox_added(self, member: Member) -> None:
        """An agent has one more inbox, in which mail may wait."""
        self._wake(member)

    async def aclose(self) -> None:
        """Begin nothing more. Deliveries that have begun record their outcome first."""
        self._ending.set()
        for timer in self._timers.values():
            timer.cancel()
        await self._watch.aclose()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(END_GRACE):
                await self._tasks.join()
        await self._tasks.aclose()

    def _thread_changed(self, thread: Thread) -> None:
        member = self._roster.of_thread(thread.id)
        if member is not None:
            self._wake(member)

    def _wake(self, member: Member) -> None:
        """Look for mail of this agent, now or after the delivery that is under way."""
        key = member.agent.codex_id
        if not self.is_wanted_by(member):
            return
        self._awaited.add(key)
        if key not in self._busy:
            self._busy.add(key)
            self._tasks.spawn(self._deliver(key, member.agent.principal), name=f"mail of {member.agent.identity}")

    def is_wanted_by(self, member: Member) -> bool:
        return self._wants_mail(member) and not self._ending.is_set()

    def is_awaited(self, member: Member) -> bool:
        return member.agent.codex_id in self._awaited

    def look_again(self, member: Member) -> None:
        self._awaited.add(member.agent.codex_id)

    def look_later(self, member: Member, delay: float) -> None:
        key = member.agent.codex_id
        if (earlier := self._timers.pop(key, None)) is not None:
            earlier.cancel()
        self._timers[key] = asyncio.get_running_loop().call_later(delay, self._wake, member)

    def _wants_mail(self, member: Member) -> bool:
        return self._settings.auto_mail and member.agent.auto_mail and not member.closing

    async def inboxes_changed(self, inboxes: frozenset[Address]) -> None:
        for member in self._roster:
            if not inboxes.isdisjoint(self._mail.addresses(member.mailbox)):
                self._wake(member)

    def watched(self) -> Collection[Address]:
        wanting = (member for member in self._roster if self._wants_mail(member))
        return [address for member in wanting for address in self._mail.watched(member.mailbox)]

    async def _deliver(self, key: str, principal: str) -> None:
        delay = FIRST_DELAY
        try:
            # Looked up each time: it may have been closed and resumed while this waited.
            while key in self._awaited and (member := self._roster.called(key, principal)) is not None:
                self._awaited.discard(key)
                try:
                    is_done = await self._deliveries.deliver(member)
                except Explained as exc:
                    logger.warning("mail of agent %s is not delivered now: %s", member.agent.identity, exc)
                    is_done = False
                if not is_done and self._wants_mail(member):
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(delay):
                            await self._ending.wait()
                    delay = min(2 * delay, LONGEST_DELAY)
                    self._awaited.add(key)
                if self._ending.is_set():
                    return
        finally:
            self._awaited.discard(key)
            self._busy.discard(key)
