"""Says which agents get mail, and when: one delivery at a time per agent, and again later after one that failed."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from codex_mcp.base.errors import Explained, Refused
from codex_mcp.base.tasks import TaskSet
from codex_mcp.team.roster import Member, Roster

logger = logging.getLogger(__name__)

FIRST_DELAY: Final = 1.0
LONGEST_DELAY: Final = 60.0
"""Seconds after which mail that could not be delivered is tried again; the delay doubles with each failure."""

END_GRACE: Final = 2.0
"""Seconds that a delivery may take to record its outcome when the server ends."""


class DeliverySchedule:
    def __init__(self, roster: Roster, deliver: Callable[[Member], Awaitable[bool]], *, auto_mail: bool) -> None:
        """`deliver` gives an agent its mail; False: that failed, and is worth another try. It may raise Explained."""
        self._roster = roster
        self._deliver = deliver
        self._auto_mail = auto_mail
        self._busy: set[str] = set()
        """Agents with a delivery."""
        self._awaited: set[str] = set()
        """Agents that have become idle, or got mail, since their delivery began to look."""
        self._forced: set[str] = set()
        """Agents that get their mail once although they get none by themselves."""
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._ending = asyncio.Event()
        self._tasks = TaskSet()

    @property
    def has_ended(self) -> bool:
        return self._ending.is_set()

    def wants_mail(self, member: Member) -> bool:
        wants = self._auto_mail and member.agent.auto_mail
        return (wants or member.agent.codex_id in self._forced) and not member.closing

    def is_wanted_by(self, member: Member) -> bool:
        """Whether this agent gets mail as turns, now that the server is not ending."""
        return self.wants_mail(member) and not self._ending.is_set()

    def is_awaited(self, member: Member) -> bool:
        """Whether it has become idle, or got mail, since its delivery began."""
        return member.agent.codex_id in self._awaited

    def look(self, member: Member) -> None:
        """Look for mail of this agent, now or after the delivery that is under way."""
        key = member.agent.codex_id
        if not self.is_wanted_by(member):
            return
        self._awaited.add(key)
        if key not in self._busy:
            self._busy.add(key)
            self._tasks.spawn(self._run(key, member.agent.principal), name=f"mail of {member.agent.identity}")

    def look_again(self, member: Member) -> None:
        """After this delivery."""
        self._awaited.add(member.agent.codex_id)

    def look_later(self, member: Member, delay: float) -> None:
        key = member.agent.codex_id
        if (earlier := self._timers.pop(key, None)) is not None:
            earlier.cancel()
        self._timers[key] = asyncio.get_running_loop().call_later(delay, self.look, member)

    def deliver_now(self, member: Member) -> None:
        """Begin a turn with its mail once, also if it gets none by itself. Limits stay. Raises Refused."""
        if member.closing or self._ending.is_set():
            raise Refused(f"{member.agent.identity} is being closed")
        if member.thread is not None and not member.thread.idle:
            raise Refused(f"{member.agent.identity} is busy; try again when it is idle")
        self._forced.add(member.agent.codex_id)
        self.look(member)

    def end(self) -> None:
        """Begin nothing more."""
        self._ending.set()
        for timer in self._timers.values():
            timer.cancel()

    async def aclose(self) -> None:
        """Deliveries that have begun record their outcome first."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(END_GRACE):
                await self._tasks.join()
        await self._tasks.aclose()

    async def _run(self, key: str, principal: str) -> None:
        delay = FIRST_DELAY
        try:
            # Looked up each time: it may have been closed and resumed while this waited.
            while key in self._awaited and (member := self._roster.called(key, principal)) is not None:
                self._awaited.discard(key)
                try:
                    is_done = await self._deliver(member)
                except Explained as exc:
                    logger.warning("mail of agent %s is not delivered now: %s", member.agent.identity, exc)
                    is_done = False
                finally:
                    self._forced.discard(key)
                if not is_done and self.wants_mail(member):
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
