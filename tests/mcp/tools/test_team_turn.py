"""A prompt on its way to an agent takes its images from the agent's folder, and its warnings come before its turn."""

import base64
from pathlib import Path

from tests.support.team.team_server import say, team_server

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


async def test_an_image_is_looked_for_in_the_folder_of_the_agent_also_in_a_reply(tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "pixel.png").write_bytes(PIXEL)
    async with team_server(tmp_path) as (server, model):
        arch = await server.start(say("one"), cwd=str(folder), images=["pixel.png"])
        await server.reply(arch["codex_id"], say("two"), images=["pixel.png"])
        assert [request.body.count(b"input_image") for request in model.requests] == [1, 2]


async def test_warnings_about_the_call_come_before_the_events_of_its_turn(tmp_path: Path) -> None:
    async with team_server(tmp_path) as (server, _model):
        (server.setup.work / "agent.md").write_text(f"---\nmodel: opus\n---\n{say('hi')}")
        call = server.call("codex", {"agent_file": "agent.md"})
        await server.result(call)
        kinds = [each["params"]["msg"]["type"] for each in server.messages if each.get("method") == "codex/event"]
        assert kinds.index("warning") < kinds.index("task_started")
