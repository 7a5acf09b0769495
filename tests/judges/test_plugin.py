"""The real Claude Code accepts our plugin, installs it from this folder, and uses its server, commands and skill."""

import os
import sys
from pathlib import Path

import msgspec
import pytest

from codex_mcp.cli.clients.everywhere.entry import Entry
from codex_mcp.cli.clients.everywhere.reading import read_clients
from codex_mcp.cli.clients.surroundings import folders_here
from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.judges.test_installed import claude_at_work
from tests.support.clients.anthropic_model import Say, Use, Used
from tests.support.clients.claude_code import NOT_OUTSIDE
from tests.support.clients.judges import NODE_MODULES, ROOT, judge, run
from tests.support.servers.mcp_server import TOUR, Setup

SERVER = "plugin_codex-mcp_codex"


def fresh_home(folder: Path, model: ScriptedModel) -> Setup:
    """A home of a user who has Claude Code and codex-mcp on PATH, and whose Codex uses this model."""
    search_path = f"{Path(sys.executable).parent}:{NODE_MODULES / '.bin'}:{os.environ['PATH']}"
    setup = Setup(folder, environment={"PATH": search_path, **NOT_OUTSIDE})
    setup.make()
    (setup.codex_home / "config.toml").write_text("".join(f"{line}\n" for line in model.codex_overrides()))
    return setup


async def claude(setup: Setup, *words: str) -> str:
    """Run a command of Claude Code to its end; return what it printed."""
    ended = await run([judge("claude"), *words], setup, NOT_OUTSIDE)
    assert ended.code == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.mark.parametrize(
    "words", [[".", "--strict"], ["plugin", "--strict"], ["plugin", "--profile", "directory"]], ids=" ".join
)
async def test_claude_code_finds_nothing_wrong_with_it(tmp_path: Path, words: list[str]) -> None:
    setup = Setup(tmp_path)
    setup.make()
    report = await claude(setup, "plugin", "validate", str(ROOT / words[0]), *words[1:], "--json")
    assert msgspec.json.decode(report)["success"] is True


async def test_after_an_install_from_this_folder_its_tool_commands_and_skill_are_there(tmp_path: Path) -> None:
    async def plan(used: list[Used]) -> Say | Use:
        if used:
            return Say("Done.")
        return Use(f"mcp__{SERVER}__codex", {"prompt": '[[scene: say text="here I am"]]', "identity": "helper"})

    async with ScriptedModel(load_script(TOUR)) as model:
        setup = fresh_home(tmp_path, model)
        await claude(setup, "plugin", "marketplace", "add", str(ROOT))
        await claude(setup, "plugin", "install", "codex-mcp@codex-mcp")
        async with claude_at_work(setup, plan, SERVER) as desk:
            said = await desk.finish()

        (called,) = desk.model.used
        assert (called.json["content"], called.json["identity"]) == ("here I am", "helper")
        begin = said[0]
        assert ("plugin:codex-mcp:codex", "connected") in [(one["name"], one["status"]) for one in begin["mcp_servers"]]
        assert {f"codex-mcp:{name}" for name in ("agents", "delegate", "finish")} <= {*begin["slash_commands"]}
        assert "codex-mcp:codex-agents" in begin["skills"]
        entries = [*read_clients(folders_here(setup.env(), str(setup.work)), setup.env())]
        (found,) = [each for each in entries if isinstance(each, Entry)]
        assert (found.scope, found.name, found.words) == (
            "plugin",
            begin["mcp_servers"][0]["name"],
            ("codex-mcp", "serve"),
        )
