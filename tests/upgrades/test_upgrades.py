"""The folders that released versions wrote open, and their conversations go on.

`0.1.0` is a layout from before the first release, `0.2.0-names` one from after it, in which names have owners.
"""

import json
import re
from pathlib import Path

import pytest

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.servers.commands import command
from tests.support.servers.mcp_server import TOUR, McpServer, Setup
from tests.support.sessions.scene import said, texts
from tests.support.team.scenes import heard
from tests.support.team.team_server import say, team_server
from tests.upgrades.kept import restore, versions

CHANGELOG = Path(__file__).parents[2] / "CHANGELOG.md"


def set_aside(folder: Path) -> list[Path]:
    """Databases that were of no use."""
    return [*folder.rglob("*.broken-*")]


def test_every_released_version_is_there() -> None:
    released = set(re.findall(r"(?m)^## (\d\S+)", CHANGELOG.read_text()))
    assert released - set(versions()) == set()


@pytest.mark.parametrize("version", versions())
async def test_agents_of_an_earlier_version_go_on(tmp_path: Path, version: str) -> None:
    restore(version, tmp_path)
    async with team_server(tmp_path) as (server, model):
        agents = {each["identity"]: each for each in (await server.threads()).values()}
        assert {name: each["status"] for name, each in agents.items()} == {"closed": "closed", "left": "stale"}
        for name, words in (("left", ["The green door.", "The red door."]), ("closed", ["The blue door."])):
            back = await server.start_with({"codex_id": agents[name]["codex_id"], "prompt": say(f"{name} is back")})
            assert (back["identity"], back["threadId"]) == (name, agents[name]["threadId"])
            assert back["content"] == f"{name} is back"
            assert [each for each in words if each not in heard(model)] == []
        assert {each["outcome"] for each in server.audit()} == {"ok"}
    assert set_aside(tmp_path) == []  # else the agents came from registry.json


@pytest.mark.parametrize("version", versions())
def test_commands_read_what_an_earlier_version_wrote(tmp_path: Path, version: str) -> None:
    restore(version, tmp_path)
    listed = json.loads(command(tmp_path / "home", "threads", "--all", "--json").stdout)["threads"]
    assert {each["identity"] for each in listed} == {"closed", "left"}
    assert "codex_close" in command(tmp_path / "home", "audit").stdout


@pytest.mark.parametrize("version", versions())
async def test_a_session_of_an_earlier_version_goes_on(tmp_path: Path, version: str) -> None:
    restore(version, tmp_path)
    async with ScriptedModel(load_script(TOUR)) as model:
        setup = Setup(tmp_path, model.codex_overrides(), ["--tools", "sessions"])
        async with McpServer(setup) as server:
            await server.initialize()
            answer = await said(server, say("Here again."), sessionId="shop")
        assert (answer["session"]["resumed"], answer["session"]["turns"]) == ("native", 2)
        assert "The white door." in texts(model)
    assert set_aside(tmp_path) == []
