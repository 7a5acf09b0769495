"""A turn that Codex is about to begin, or that stands for what sub-agents do."""

import asyncio

import pytest

from codex_mcp.codex.core import TurnSpec
from codex_mcp.codex.facts import GoalChanged, TurnEnded, TurnStarted
from codex_mcp.threads.own import adopting
from codex_mcp.threads.own.adopting import Adopting
from codex_mcp.threads.own.unasked import Unasked
from codex_mcp.threads.turn import Turn
from codex_mcp.threads.turn_queue import Action, Conclude, Source, TurnQueue
from codex_mcp.wire.app.notifications import Goal
from tests.support.core.cores import Watcher
from tests.support.patience import PATIENCE

ACTIVE = GoalChanged(Goal("make all quiet", "active"))


class Scene:
    """A thread of which only this is left."""

    def __init__(self) -> None:
        self.unasked, self.queue = Unasked(), TurnQueue(1)
        self.turns: list[Turn] = []
        self.out_of_time = asyncio.Event()
        self.ended = asyncio.Event()
        self.adopting = Adopting(self.unasked, self.queue, self._perform, self._new_turn, lambda: "It is over.")

    def _perform(self, actions: list[Action]) -> None:
        assert actions == [Conclude(self.turns[-1].place)]
        self.turns[-1].conclude()
        self.ended.set()

    def _new_turn(self) -> Turn:
        turn = Turn("thread", TurnSpec(), Watcher(), full_events=False, source=Source.CODEX)
        turn.stop_after(0, self.out_of_time.set)
        self.queue.expect(turn.place)
        self.turns.append(turn)
        return turn

    def happens(self, *facts: GoalChanged | TurnStarted | TurnEnded) -> None:
        """In a sub-agent."""
        for fact in facts:
            self.unasked.fact_received("helper", fact)
        current = self.turns[-1] if self.turns and not self.turns[-1].ended else None
        self.adopting.settle(current)


async def test_the_time_limit_holds_for_a_goal_of_a_subagent_between_two_of_its_turns() -> None:
    scene = Scene()
    scene.happens(ACTIVE)
    async with asyncio.timeout(PATIENCE):
        await scene.out_of_time.wait()
    scene.adopting.close()


async def test_it_ends_if_nothing_begins_for_long_and_not_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adopting, "EXPECTED", 0)
    scene = Scene()
    scene.happens(ACTIVE, TurnStarted("t1"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not scene.ended.is_set()
    scene.happens(TurnEnded("t1", "completed", None), TurnStarted("t2"), TurnEnded("t2", "completed", None))
    assert not scene.ended.is_set()
    async with asyncio.timeout(PATIENCE):
        await scene.ended.wait()
    assert (len(scene.turns), scene.turns[0].outcome.content) == (1, "It is over.")
    assert scene.unasked.is_quiet
