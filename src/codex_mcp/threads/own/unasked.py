"""What Codex does in a thread although no prompt asks for it: goals, and turns that it begins, here and in sub-agents.

To quiesce a thread: pause its goals, interrupt these turns, and wait until they have ended. Unsubscribing from a thread
stops nothing, so this comes first. After that, whatever Codex begins is stopped, until a prompt is sent to the thread:
a turn may have been about to begin.

Near a limit, a goal is held: Codex is told that it is paused, and is let go on after each turn. So no turn begins that
the limits do not allow. Only near a limit, because Codex does not count the tokens of a goal that is paused.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Final

from msgspec.structs import replace

from codex_mcp.base.printable import foreign
from codex_mcp.codex.conversation.goals import ACTIVE, PAUSED, set_goal_status
from codex_mcp.codex.core import Core, CoreError
from codex_mcp.codex.facts import Fact, GoalChanged, TurnEnded, TurnStarted
from codex_mcp.threads.record import Stopped
from codex_mcp.wire.app.notifications import Goal

logger = logging.getLogger(__name__)

OBJECTIVE_CHARS: Final = 500
"""The model writes the objective of a goal, and results, lists and warnings repeat it."""


class Unasked:
    """By the thread in which it happens, which is a thread of ours or one of its sub-agents."""

    def __init__(self) -> None:
        self._goals: dict[str, Goal] = {}
        self._running: dict[str, str] = {}
        self.begun = 0
        """How many turns have begun."""
        self._interrupted: set[str] = set()
        self._stops = 0
        """How many callers are stopping it now."""
        self.is_stopped = False
        """No prompt was sent since it was stopped."""
        self._to_pause: set[str] = set()
        """Threads whose goals count as paused, although Codex has not been told yet."""
        self._refused: set[str] = set()
        """Threads whose goals Codex does not pause; since the last prompt. Their turns are interrupted."""
        self._held: set[str] = set()
        """Threads whose goals count as active, although Codex was told that they are paused."""
        self._released: set[str] = set()
        """Threads whose goals were held, and Codex has not confirmed yet that they are active again."""
        self._one_at_a_time = asyncio.Lock()
        self._changed = asyncio.Event()
        self._no_stop = asyncio.Event()
        self._no_stop.set()

    @property
    def is_quiet(self) -> bool:
        return not self._running and not self._active_goals

    @property
    def _active_goals(self) -> list[str]:
        return [thread_id for thread_id, goal in self._goals.items() if goal.status == ACTIVE]

    @property
    def has_turns(self) -> bool:
        """Turns run that no prompt asked for, and that are no turns of the thread here."""
        return bool(self._running)

    @property
    def has_goals(self) -> bool:
        """Goals are active."""
        return bool(self._active_goals)

    @property
    def is_held(self) -> bool:
        return bool(self._held)

    def runs(self, thread_id: str, turn_id: str) -> bool:
        return self._running.get(thread_id) == turn_id

    def goal(self, thread_id: str) -> Goal | None:
        return self._goals.get(thread_id)

    def going_on(self) -> Stopped:
        """What would have to be stopped now."""
        return Stopped(tuple(self._goals[key].objective for key in self._active_goals), len(self._running))

    def fact_received(self, thread_id: str, fact: Fact | None) -> None:
        """Something happened in this thread; a turn in it is one that no prompt asked for."""
        match fact:
            case TurnStarted(turn_id=turn_id):
                self._running[thread_id] = turn_id
                self.begun += 1
            case TurnEnded(turn_id=turn_id):
                self.turn_taken(thread_id, turn_id)
            case GoalChanged(goal=None):
                self._goals.pop(thread_id, None)
                self._let_go(thread_id)
            case GoalChanged(goal=Goal() as goal):
                self._goal_changed(thread_id, goal)
            case _:
                return
        self._changed.set()

    def turn_taken(self, thread_id: str, turn_id: str) -> bool:
        """It has ended, or is a turn of the thread now. Whether it was one that ran here."""
        if not self.runs(thread_id, turn_id):
            return False
        del self._running[thread_id]
        self._interrupted.discard(turn_id)
        return True

    def _goal_changed(self, thread_id: str, goal: Goal) -> None:
        match goal.status:
            case "paused" if thread_id in self._held | self._released:
                goal = replace(goal, status=ACTIVE)
            case "active" if thread_id in self._refused:
                goal = replace(goal, status=PAUSED)
            case "active":
                self._released.discard(thread_id)
            case _:
                self._let_go(thread_id)
        self._goals[thread_id] = replace(goal, objective=foreign(goal.objective, OBJECTIVE_CHARS))
        if self.is_stopping:
            self.mark_paused()

    def let_go(self, thread_id: str) -> None:
        """A caller changes this goal: what Codex says of it from now on is meant."""
        if thread_id in self._held:
            self._goals[thread_id] = replace(self._goals[thread_id], status=PAUSED)
        self._let_go(thread_id)

    def _let_go(self, thread_id: str) -> None:
        self._held.discard(thread_id)
        self._released.discard(thread_id)

    def lost(self) -> None:
        """The core has ended, or has unloaded the thread."""
        for kept in (self._goals, self._running, self._interrupted, self._to_pause, self._refused):
            kept.clear()
        self._held.clear()
        self._released.clear()
        self._changed.set()

    @property
    def is_stopping(self) -> bool:
        return self._stops > 0

    def begin_stop(self) -> None:
        """From now on until `end_stop`, goals count as paused."""
        self._stops += 1
        self._no_stop.clear()
        self.is_stopped = True
        self.mark_paused()

    def end_stop(self) -> None:
        self._stops -= 1
        if not self.is_stopping:
            self._no_stop.set()

    async def wait_for_stops(self) -> None:
        """Wait until nobody is stopping it. A goal that is set before that is paused."""
        await self._no_stop.wait()

    def prompted(self) -> None:
        """A prompt is sent to the thread: what it leads to is wanted."""
        self.is_stopped = False
        self._refused.clear()

    def mark_paused(self) -> None:
        """Goals count as paused from now on; `pause` tells Codex."""
        for thread_id in self._active_goals:
            self._goals[thread_id] = replace(self._goals[thread_id], status=PAUSED)
            self._to_pause.add(thread_id)
            self._let_go(thread_id)

    async def quiesce(self, core: Core, patience: float) -> None:
        """Stop all of it, and whatever begins meanwhile."""
        self.begin_stop()
        try:
            async with asyncio.timeout(patience):
                await asyncio.gather(self.pause(core), self._interrupt_turns(core))
        except TimeoutError:
            logger.warning("Codex has not stopped within %g s what it began by itself", patience)
        finally:
            self.end_stop()

    async def hold(self, core: Core) -> None:
        """Let Codex begin no further turn of the goals, until `release`."""
        for thread_id in [each for each in self._active_goals if each not in self._held]:
            self._held.add(thread_id)
            self._released.discard(thread_id)
            async with self._one_at_a_time:
                # Otherwise it was stopped, or has ended, meanwhile.
                if thread_id in self._held and not await self._tell(core, thread_id, PAUSED):
                    self._held.discard(thread_id)

    async def release(self, core: Core) -> None:
        """Let Codex begin the next turn of the goals that are held. A goal that it refuses to go on with is paused."""
        released, self._held = self._held, set()
        self._released |= released
        for thread_id in released:
            async with self._one_at_a_time:
                is_told = thread_id not in self._released or await self._tell(core, thread_id, ACTIVE)
            if not is_told and thread_id in self._goals:
                self._let_go(thread_id)
                self._goals[thread_id] = replace(self._goals[thread_id], status=PAUSED)

    async def _tell(self, core: Core, thread_id: str, status: str) -> bool:
        """Whether Codex agrees."""
        with contextlib.suppress(CoreError):
            await set_goal_status(core, thread_id, status)
            return True
        return False

    async def pause(self, core: Core) -> None:
        """Pause the goals that are marked, and let the turns go on to their end."""
        while self._to_pause:
            thread_id = next(iter(self._to_pause))
            async with self._one_at_a_time:
                if not await self._tell(core, thread_id, PAUSED):
                    self._refused.add(thread_id)  # as that of a sub-agent of the second design
            self._to_pause.discard(thread_id)
        self._changed.set()

    async def _interrupt_turns(self, core: Core) -> None:
        """Interrupt each turn as soon as it is announced: then its request has not left yet."""
        while self._running or self._to_pause:
            self._changed.clear()
            new = {key: turn_id for key, turn_id in self._running.items() if turn_id not in self._interrupted}
            self._interrupted.update(new.values())
            await asyncio.gather(*(interrupt(core, *each) for each in new.items()))
            if self._running or self._to_pause:
                await self._changed.wait()


async def interrupt(core: Core, thread_id: str, turn_id: str) -> None:
    with contextlib.suppress(CoreError):
        await core.interrupt_turn(thread_id, turn_id)
