"""A fresh home with the real clients: they understand what `install` and `migrate` write into their files."""

import contextlib
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.clients.anthropic_model import AnthropicModel, Plan, Say, Use, Used
from tests.support.clients.claude_code import NOT_OUTSIDE, Desk, codex
from tests.support.clients.codex_exec import SCRIPT, Office
from tests.support.clients.judges import NODE_MODULES, judge, node, run, started
from tests.support.patience import PATIENCE
from tests.support.servers.mcp_server import TOUR, Json, Setup

OUR_PROGRAM = Path(sys.executable).parent / "codex-mcp"


def fresh_home(folder: Path, model: ScriptedModel) -> Setup:
    """A home of a user who has Claude Code and Codex from npm, and whose Codex uses this model."""
    search_path = f"{OUR_PROGRAM.parent}:{NODE_MODULES / '.bin'}:{os.environ['PATH']}"
    setup = Setup(folder, environment={"PATH": search_path, **NOT_OUTSIDE})
    setup.make()
    (setup.codex_home / "config.toml").write_text("".join(f"{line}\n" for line in model.codex_overrides()))
    return setup


def ours(setup: Setup, *words: str) -> str:
    """Run a command of ours in the home folder; return what it printed."""
    ended = subprocess.run(
        [OUR_PROGRAM, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=setup.env(),
        cwd=setup.home,
        timeout=PATIENCE,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout


@contextlib.asynccontextmanager
async def claude_at_work(setup: Setup, plan: Plan, *servers: str) -> AsyncIterator[Desk]:
    """Claude Code in another folder, with the servers that its own files name."""
    async with AnthropicModel(plan) as model:
        words = ["-p", "Let Codex work.", "--output-format", "stream-json", "--verbose"]
        words += ["--allowedTools", *(f"mcp__{server}" for server in servers)]
        async with started([judge("claude"), *words], setup, {"ANTHROPIC_BASE_URL": model.base_url}) as process:
            assert process.stdin is not None
            process.stdin.close()
            yield Desk(process, model)


def mcp_servers(setup: Setup) -> Json:
    """The user's servers of Claude Code."""
    servers: Json = msgspec.json.decode((setup.home / ".claude.json").read_bytes())["mcpServers"]
    return servers


async def test_after_install_claude_the_tool_answers_in_another_folder(tmp_path: Path) -> None:
    async def plan(used: list[Used]) -> Say | Use:
        return Say("Done.") if used else codex('[[scene: say text="here I am"]]')

    async with ScriptedModel(load_script(TOUR)) as model:
        setup = fresh_home(tmp_path, model)
        assert "Added the server codex to Claude Code (user): ~/.claude.json" in ours(setup, "install", "claude")
        async with claude_at_work(setup, plan, "codex") as desk:
            said = await desk.finish()

        (called,) = desk.model.used
        assert called.json["content"] == "here I am"
        assert [(server["name"], server["status"]) for server in said[0]["mcp_servers"]] == [("codex", "connected")]
        assert mcp_servers(setup)["codex"]["timeout"] == 86_400_000
        ours(setup, "uninstall", "claude")
        assert mcp_servers(setup) == {}


async def test_after_migrate_three_kinds_of_dead_entries_answer_under_their_names(tmp_path: Path) -> None:
    names = ["codex", "agents", "bridge"]

    async def plan(used: list[Used]) -> Say | Use:
        if len(used) == len(names):
            return Say("Done.")
        return Use(f"mcp__{names[len(used)]}__codex", {"prompt": f'[[scene: say text="{names[len(used)]}"]]'})

    async with ScriptedModel(load_script(TOUR)) as model:
        setup = fresh_home(tmp_path, model)
        dead = await run([node(), judge("codex"), "mcp-server"], setup, {})
        assert (dead.code, "stdin is not a terminal" in dead.stderr) == (1, True)
        entries = {
            "codex": {"type": "stdio", "command": "codex", "args": ["mcp-server"], "env": {"KEPT": "yes"}},
            "agents": {"command": "env", "args": ["RUST_LOG=warn", "npx", "-y", "@openai/codex", "mcp-server"]},
            "bridge": {"command": "uvx", "args": ["codex-as-mcp@latest"]},
        }
        (setup.home / ".claude.json").write_bytes(msgspec.json.encode({"mcpServers": entries}))
        plan_shown = ours(setup, "migrate", "--yes")
        assert all(name in plan_shown for name in names)
        async with claude_at_work(setup, plan, *names) as desk:
            await desk.finish()

        assert [called.json["content"] for called in desk.model.used] == names
        assert (mcp_servers(setup)["codex"]["env"], mcp_servers(setup)["agents"]["env"]) == (
            {"KEPT": "yes"},
            {"RUST_LOG": "warn"},
        )


@pytest.mark.parametrize("how", ["install", "migrate"])
async def test_a_codex_agent_uses_the_server_that_was_installed_or_migrated(tmp_path: Path, how: str) -> None:
    async with ScriptedModel(load_script(SCRIPT)) as model:
        setup = fresh_home(tmp_path, model)
        if how == "install":
            assert "~/.codex/config.toml" in ours(setup, "install", "codex")
        else:
            with (setup.codex_home / "config.toml").open("a") as file:
                file.write('[mcp_servers.codex]\ncommand = "codex"\nargs = ["mcp-server"]\n')
            ours(setup, "migrate", "--yes")
        asked = ["required=true", 'default_tools_approval_mode="approve"']
        words = [word for line in asked for word in ("-c", f"mcp_servers.codex.{line}")]
        argv = [node(), judge("codex"), "exec", "--skip-git-repo-check", "--json", *words, "[[scene: boss]]"]
        async with started(argv, setup, {}) as process:
            first, second, _ = await Office(process).finish()

        assert first["result"]["structured_content"]["content"] == "Done: the first half"
        assert second["result"]["structured_content"]["content"] == "Done: the second half"


async def test_the_inspector_finds_the_installed_server(tmp_path: Path) -> None:
    async with ScriptedModel(load_script(TOUR)) as model:
        setup = fresh_home(tmp_path, model)
        ours(setup, "install", "inspector")
        words = ["--cli", "--server", "codex", "--method", "tools/list"]
        listed = await run([node(), judge("mcp-inspector"), *words], setup, {"MCP_INSPECTOR_SECRET_STORE": "memory"})

        tools = msgspec.json.decode(listed.stdout)["tools"]
        assert [tool["name"] for tool in tools] == ["codex", "codex-reply", "codex_wait"]
