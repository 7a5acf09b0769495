"""Who gets `codex/event` notifications without asking, who has to ask, and when nobody gets any."""

import asyncio
from pathlib import Path

import pytest

from tests.support.patience import PATIENCE
from tests.support.servers.mcp_server import Json, scripted_server

SAY = {"prompt": '[[scene: say text="one"]]'}

ASKS: Json = {"experimental": {"codex/event": {}}}


@pytest.mark.parametrize(
    ("name", "capabilities", "arguments", "flags", "is_told"),
    [
        ("written-for-codex-mcp-server", {}, {}, (), True),
        ("mcp", {}, {}, (), False),
        ("mcp", ASKS, {}, (), True),
        ("mcp", {}, {"events": "standard"}, (), True),
        ("mcp", {}, {}, ("--events", "standard"), True),
        ("gemini-cli-mcp-client", {}, {}, (), False),
        ("written-for-codex-mcp-server", ASKS, {}, ("--events", "none"), False),
    ],
)
async def test_events_go_to_clients_that_ask_and_to_those_that_may_need_them(
    tmp_path: Path, name: str, capabilities: Json, arguments: Json, flags: tuple[str, ...], *, is_told: bool
) -> None:
    async with scripted_server(tmp_path, *flags) as (server, _model):
        info = {"name": name, "version": "0.1.0"}
        hello = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": info}
        await server.result(server.request("initialize", hello))
        result = await server.run("codex", {**SAY, **arguments})
        assert result["structuredContent"]["status"] == "completed"
        assert bool(server.events()) is is_told


async def test_after_the_end_of_stdin_nothing_but_answers_is_written(tmp_path: Path) -> None:
    """A client that starts a server for each call has closed its end of everything else by then."""
    async with scripted_server(tmp_path) as (server, model):
        await server.initialize()
        await server.run("codex", {"prompt": '[[scene: gate name=one text="one"]]', "background": True})
        held = server.call("codex", {"prompt": '[[scene: gate name=two text="two"]]'})
        await model.wait_for_gate("one")
        await model.wait_for_gate("two")
        server.close_stdin()
        async with asyncio.timeout(PATIENCE):
            while "stopping: stdin has ended" not in server.log:  # noqa: ASYNC110  a file tells nobody
                await asyncio.sleep(0)
        model.release("one")
        model.release("two")
        assert (await server.result(held))["structuredContent"]["content"] == "two"
        assert await server.exit_code() == 0
        # What was written before may be read later; the ends of the turns came after.
        assert [event for event in server.events() if event["type"] == "task_complete"] == []
