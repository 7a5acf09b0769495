"""The goals of threads. Codex begins turn after turn while a goal is active, and none while it is paused.

A paused goal is a firm stop: the model can neither go on with it nor set another one.
"""

from __future__ import annotations

import contextlib
from typing import Final

from msgspec import UNSET, Raw

from codex_mcp.codex.core import Core, CoreError, GoalOrder
from codex_mcp.wire.app.items import Wire
from codex_mcp.wire.app.notifications import Goal
from codex_mcp.wire.app.requests import SetGoal, ThreadId

ACTIVE: Final = "active"
PAUSED: Final = "paused"
CLEARED: Final = "cleared"


class GoalRead(Wire, frozen=True):
    goal: Goal | None = None


class Named(Wire, frozen=True):
    agent_nickname: str | None = None


class ThreadRead(Wire, frozen=True):
    thread: Named


async def nickname(core: Core, thread_id: str) -> str:
    """What Codex calls a sub-agent; empty if it has no name."""
    with contextlib.suppress(CoreError):
        return (await core.request("thread/read", ThreadId(thread_id), ThreadRead)).thread.agent_nickname or ""
    return ""


async def set_goal_status(core: Core, thread_id: str, status: str) -> None:
    """Raises CoreError, also if there is no goal."""
    await core.request("thread/goal/set", SetGoal(thread_id, status=status), Raw)


async def order_goal(core: Core, thread_id: str, order: GoalOrder) -> Goal | None:
    """The goal that the thread has then. Raises CoreError."""
    if order.status == CLEARED:
        await core.request("thread/goal/clear", ThreadId(thread_id), Raw)
        return None
    if order.objective is not None:  # Codex would go on counting the tokens of the goal before, with its budget
        with contextlib.suppress(CoreError):
            await core.request("thread/goal/clear", ThreadId(thread_id), Raw)
    objective = UNSET if order.objective is None else order.objective
    budget = UNSET if order.token_budget is None else order.token_budget
    return (await core.request("thread/goal/set", SetGoal(thread_id, order.status, objective, budget), GoalRead)).goal


async def pause_goal(core: Core, thread_id: str) -> str:
    """Pause the goal of a thread that is not loaded yet. Return the goal, or nothing if it has none that is unfinished.

    Codex would go on with an active goal as soon as the thread is loaded.
    """
    with contextlib.suppress(CoreError):  # a thread that is unknown; goals that are switched off
        goal = (await core.request("thread/goal/get", ThreadId(thread_id), GoalRead)).goal
        if goal is not None and goal.status == ACTIVE:
            await set_goal_status(core, thread_id, PAUSED)
        return goal.objective if goal is not None and goal.status in (ACTIVE, PAUSED) else ""
    return ""
