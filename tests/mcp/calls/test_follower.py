"""A call follows its turn, or leaves it to be collected."""

from pathlib import Path

import pytest

from tests.mcp.tools.test_dispatch import run
from tests.support.servers.mcp_server import scripted_server
from tests.support.servers.mcp_session import memory_session


@pytest.mark.parametrize("arguments", [None, {}, {"threadIds": []}, {"timeout-seconds": 0}])
async def test_a_wait_for_nothing_ends_at_once(tmp_path: Path, arguments: object) -> None:
    async with memory_session(tmp_path) as (client, _session):
        result = await run(client, "codex_wait", arguments)
        assert result["structuredContent"] == {"finished": [], "running": []}


async def test_a_background_turn_is_collected_by_a_wait_once(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, model):
        await server.initialize()
        started = await server.run("codex", {"prompt": '[[scene: gate text="Done."]]', "background": True})
        thread = started["structuredContent"]["threadId"]
        await model.wait_for_gate("gate")

        looked = await server.run("codex_wait", {"threadIds": [thread], "timeout-seconds": 0})
        model.release("gate")
        collected = await server.run("codex_wait", {})
        again = await server.run("codex_wait", {})
        named = await server.run("codex_wait", {"threadIds": [thread], "again": True})

        assert started["structuredContent"]["status"] == "running"
        assert [turn["threadId"] for turn in looked["structuredContent"]["running"]] == [thread]
        assert [turn["content"] for turn in collected["structuredContent"]["finished"]] == ["Done."]
        assert again["structuredContent"] == {"finished": [], "running": []}
        assert [turn["content"] for turn in named["structuredContent"]["finished"]] == ["Done."]


async def test_a_wait_ends_with_the_first_of_several_turns(tmp_path: Path) -> None:
    async with scripted_server(tmp_path) as (server, model):
        await server.initialize()
        for name in ("one", "two"):
            await server.run("codex", {"prompt": f'[[scene: gate name={name} text="{name}"]]', "background": True})
            await model.wait_for_gate(name)
        waiting = server.call("codex_wait", {})
        model.release("two")
        structured = (await server.result(waiting))["structuredContent"]
        assert [turn["content"] for turn in structured["finished"]] == ["two"]
        assert len(structured["running"]) == 1
