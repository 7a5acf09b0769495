"""What nobody asked for is stopped, whatever Codex answers."""

import asyncio

from codex_mcp.codex.facts import GoalChanged, TurnEnded, TurnStarted
from codex_mcp.threads.own.unasked import Unasked
from codex_mcp.wire.app.notifications import Goal
from tests.codex.test_app_server import core
from tests.support.patience import PATIENCE

ACTIVE = GoalChanged(Goal("make all quiet", "active"))

REFUSED = {"code": -32600, "message": "direct app-server input is not allowed for multi-agent v2 sub-agents"}


async def test_a_goal_that_codex_does_not_pause_is_stopped_with_its_turn() -> None:
    unasked = Unasked()
    async with core() as c, asyncio.timeout(PATIENCE):
        unasked.fact_received("helper", ACTIVE)
        unasked.fact_received("helper", TurnStarted("t1"))
        stopping = c.tasks.spawn(unasked.quiesce(c.app, 10 * PATIENCE), name="stop")
        asked = {message["method"]: message for message in (await c.hear(), await c.hear())}
        c.say(id=asked["thread/goal/set"]["id"], error=REFUSED)
        c.say(id=asked["turn/interrupt"]["id"], result={})
        await c.serve(lambda app: app.interrupt_turn("other", "t2"), result={})  # both answers have been read
        unasked.fact_received("helper", ACTIVE)
        unasked.fact_received("helper", TurnEnded("t1", "interrupted", None))
        await stopping
        unasked.fact_received("helper", ACTIVE)
        assert unasked.is_quiet
        unasked.prompted()
        unasked.fact_received("helper", ACTIVE)  # its parent has given it a task
        assert not unasked.is_quiet
