"""What Codex does in a thread although no prompt asks for it: goals, and turns that it begins, here and in sub-agents.

To quiesce a thread: pause its goals, interrupt these turns, and wait until they have ended. Unsubscribing from a thread
stops nothing, so this comes first.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging

from msgspec.structs import replace

from codex_mcp.codex.conversation.goals import ACTIVE, PAUSED, pause_goal
from codex_mcp.codex.core import Core, CoreError
from codex_mcp.codex.facts import Fact, GoalChanged, TurnEnded, TurnStarted
from codex_mcp.threads.record import Stopped
from codex_mcp.wire.app.notifications import Goal

logger = logging.getLogger(__name__)


class Unasked:
    """By the thread in which it happens, which is a thread of ours or one of its sub-agents."""

    def __init__(self) -> None:
        self._goals: dict[str, Goal] = {}
        self._running: dict[str, str] = {}
        self._interrupted: set[str] = set()
        self._changed = asyncio.Event()

    @property
    def is_quiet(self) -> bool:
        return not self._running and not self._active_goals

    @property
    def _active_goals(self) -> list[str]:
        return [thread_id for thread_id, goal in self._goals.items() if goal.status == ACTIVE]

    def going_on(self) -> Stopped:
        """What would have to be stopped now."""
        return Stopped(tuple(self._goals[key].objective for key in self._active_goals), len(self._running))

    def fact_received(self, thread_id: str, fact: Fact | None) -> None:
        """Something happened in this thread; a turn in it is one that no prompt asked for."""
        match fact:
            case TurnStarted(turn_id=turn_id):
                self._running[thread_id] = turn_id
            case TurnEnded(turn_id=turn_id) if self._running.get(thread_id) == turn_id:
                del self._running[thread_id]
                self._interrupted.discard(turn_id)
            case GoalChanged(goal=None):
                self._goals.pop(thread_id, None)
            case GoalChanged(goal=Goal() as goal):
                self._goals[thread_id] = goal
            case _:
                return
        self._changed.set()

    def lost(self) -> None:
        """The core has ended, or has unloaded the thread."""
        self._goals.clear()
        self._running.clear()
        self._interrupted.clear()
        self._changed.set()

    async def quiesce(self, core: Core, patience: float) -> bool:
        """Stop all of it, and whatever begins meanwhile. False: it did not end in time."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience):
                while not self.is_quiet:
                    self._changed.clear()
                    await self._stop_each(core)
                    if not self.is_quiet:
                        await self._changed.wait()
        if not self.is_quiet:
            logger.warning("Codex has not stopped within %g s what it began by itself", patience)
        return self.is_quiet

    async def _stop_each(self, core: Core) -> None:
        for thread_id in self._active_goals:
            goal = self._goals[thread_id]
            with contextlib.suppress(CoreError):
                await pause_goal(core, thread_id)
            if self._goals.get(thread_id) is goal:
                self._goals[thread_id] = replace(goal, status=PAUSED)
        for thread_id, turn_id in list(self._running.items()):
            if turn_id not in self._interrupted:
                self._interrupted.add(turn_id)
                with contextlib.suppress(CoreError):
                    await core.interrupt_turn(thread_id, turn_id)
