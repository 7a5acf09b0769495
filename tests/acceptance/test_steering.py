"""`when` and `rollback` of `codex-reply` without a team, through the official client in both eras."""

import asyncio
from pathlib import Path
from typing import Any

from mcp import Client
from mcp_types import CallToolResult

from codex_mcp.scripted_model.server import ScriptedModel
from tests.acceptance.test_python_sdk import answer, connected, every_mode, structured
from tests.support.servers.mcp_server import Json, scripted_server
from tests.support.team.scenes import heard
from tests.support.team.team_server import GATE, say


async def begun(client: Client, model: ScriptedModel) -> str:
    """A thread whose turn waits at the gate, in the background."""
    started = structured(await client.call_tool("codex", {"prompt": GATE, "background": True}))
    await model.wait_for_gate("gate")
    thread: str = started["threadId"]
    return thread


async def reply(client: Client, thread: str, prompt: str, **arguments: Any) -> CallToolResult:
    return await client.call_tool("codex-reply", {"threadId": thread, "prompt": prompt, **arguments})


async def finished(client: Client) -> list[Json]:
    """What `codex_wait` has to tell."""
    told: list[Json] = structured(await client.call_tool("codex_wait", {"timeout-seconds": 0}))["finished"]
    return told


@every_mode
async def test_a_running_turn_is_steered_and_told_once(tmp_path: Path, mode: str) -> None:
    async with connected(tmp_path, mode=mode) as (client, model):
        thread = await begun(client, model)
        async with asyncio.TaskGroup() as group:
            steering = [group.create_task(reply(client, thread, say("left"), when="steer")) for _ in range(2)]
        assert [answer(task.result()) for task in steering] == ["left"] * 2
        assert await finished(client) == []
        assert heard(model).count(say("left")) == 2


@every_mode
async def test_a_running_turn_is_interrupted_and_turns_are_dropped(tmp_path: Path, mode: str) -> None:
    async with connected(tmp_path, mode=mode) as (client, model):
        thread = await begun(client, model)
        urgent = await reply(client, thread, say("now"), when="interrupt")
        assert answer(urgent) == "now"
        (stopped,) = await finished(client)
        assert stopped["status"] == "interrupted"
        dropped = await reply(client, thread, say("again"), rollback=2)
        assert structured(dropped)["warnings"] == [
            "Dropped from the conversation: the last 2 turns. Files are not rolled back."
        ]
        assert GATE not in heard(model)
        assert say("now") not in heard(model)


async def test_a_cancelled_call_that_steers_leaves_the_turn_alone(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, model):
        await server.initialize()
        first = server.call("codex", {"prompt": GATE})
        await model.wait_for_gate("gate")
        thread = (await server.event("session_configured"))["params"]["_meta"]["threadId"]
        second = server.call("codex-reply", {"threadId": thread, "prompt": say("left"), "when": "steer"})
        server.cancel(second)
        model.release("gate")
        assert (await server.result(first))["structuredContent"]["status"] == "completed"
