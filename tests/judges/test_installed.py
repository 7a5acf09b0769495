"""A fresh home of an ordinary user with the real clients of npm: they start what `install` and `migrate` write."""

import contextlib
import re
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import msgspec
import pytest

from codex_mcp.base.files import write_whole
from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.clients.anthropic_model import AnthropicModel, Plan, Say, Use, Used
from tests.support.clients.claude_code import NOT_OUTSIDE, Desk, codex
from tests.support.clients.codex_exec import SCRIPT, Office
from tests.support.clients.judges import run, started
from tests.support.clients.ordinary_user import OrdinaryUser, ordinary_user
from tests.support.patience import PATIENCE
from tests.support.servers.mcp_server import TOUR, Json, Setup

IN_MEMORY = {"MCP_INSPECTOR_SECRET_STORE": "memory"}


@pytest.fixture(scope="module")
def user() -> Iterator[OrdinaryUser]:
    with ordinary_user() as user:
        yield user


def fresh_home(user: OrdinaryUser, model: ScriptedModel, files: dict[str, str] | None = None) -> Setup:
    """A home of a user who has the clients of npm, and whose Codex uses this model. `files` are appended."""
    folder = Path(tempfile.mkdtemp(dir=user.folder))
    environment = {"PATH": user.search_path, "PYTHONPATH": "", **NOT_OUTSIDE}
    setup = Setup(folder, environment=environment, credentials=user.credentials)
    setup.make()
    (setup.codex_home / "config.toml").write_text("".join(f"{line}\n" for line in model.codex_overrides()))
    for name, text in (files or {}).items():
        (setup.home / name).parent.mkdir(exist_ok=True)
        with (setup.home / name).open("a") as file:
            file.write(text)
    user.take(folder)
    return setup


def ours(setup: Setup, *words: str) -> str:
    """Run `codex-mcp` in the home folder; return what it printed."""
    ended = subprocess.run(
        ["codex-mcp", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=setup.env(),
        cwd=setup.home,
        timeout=PATIENCE,
        check=False,
        **setup.credentials,
    )
    assert (ended.returncode, ended.stderr) == (0, ""), ended.stdout
    return ended.stdout


@contextlib.asynccontextmanager
async def claude_at_work(setup: Setup, plan: Plan, *servers: str) -> AsyncIterator[Desk]:
    """Claude Code in another folder, with the servers that its own files name."""
    async with AnthropicModel(plan) as model:
        words = ["-p", "Let Codex work.", "--output-format", "stream-json", "--verbose"]
        words += ["--allowedTools", *(f"mcp__{server}" for server in servers)]
        async with started(["claude", *words], setup, {"ANTHROPIC_BASE_URL": model.base_url}) as process:
            assert process.stdin is not None
            process.stdin.close()
            yield Desk(process, model)


async def codex_at_work(setup: Setup, server: str, scene: str) -> list[Json]:
    """What the server told an agent of `codex exec` that plays this scene."""
    asked = ["required=true", 'default_tools_approval_mode="approve"']
    words = [word for line in asked for word in ("-c", f"mcp_servers.{server}.{line}")]
    argv = ["codex", "exec", "--skip-git-repo-check", "--json", *words, f"[[scene: {scene}]]"]
    async with started(argv, setup, {}) as process:
        *called, _ = await Office(process).finish()
    return [item["result"]["structured_content"] for item in called]


async def inspected(setup: Setup, server: str, *words: str) -> Json:
    """What the Inspector prints about a server of its own file."""
    ended = await run(["mcp-inspector", "--cli", "--server", server, "--method", *words], setup, IN_MEMORY)
    result: Json = msgspec.json.decode(ended.stdout)
    return result


def mcp_servers(setup: Setup) -> Json:
    """The user's servers of Claude Code."""
    servers: Json = msgspec.json.decode((setup.home / ".claude.json").read_bytes())["mcpServers"]
    return servers


def owners(folder: Path) -> set[int]:
    return {path.lstat().st_uid for path in folder.rglob("*")}


async def test_after_doctor_and_install_the_tool_answers_in_claude_code_in_another_folder(user: OrdinaryUser) -> None:
    async def plan(used: list[Used]) -> Say | Use:
        return Say("Done.") if used else codex('[[scene: say text="here I am"]]')

    async with ScriptedModel(load_script(TOUR)) as model:
        setup = fresh_home(user, model)
        assert "✗" not in ours(setup, "doctor")
        assert "Added the server codex to Claude Code (user): ~/.claude.json" in ours(setup, "install", "claude")
        async with claude_at_work(setup, plan, "codex") as desk:
            said = await desk.finish()

        (called,) = desk.model.used
        assert called.json["content"] == "here I am"
        # On a busy machine it is still pending at this moment; the call waits for it.
        assert [server["name"] for server in said[0]["mcp_servers"]] == ["codex"]
        assert mcp_servers(setup)["codex"]["command"] == str(user.program)
        assert mcp_servers(setup)["codex"]["timeout"] == 86_400_000
        assert list((setup.codex_home / "sessions").rglob("*.jsonl"))
        assert owners(setup.folder) == {user.uid}
        assert "✓ Claude Code: the server codex in ~/.claude.json runs codex-mcp" in ours(setup, "doctor")
        ours(setup, "uninstall", "claude")
        assert mcp_servers(setup) == {}


DEAD_CLAUDE = """{
  "mcpServers": {
    "codex": {"type": "stdio", "command": "codex", "args": ["mcp-server"], "env": {"KEPT": "yes"}},
    "agents": {"command": "env", "args": ["RUST_LOG=warn", "npx", "-y", "@openai/codex", "mcp-server"]}
  }
}
"""
DEAD_CODEX = '\n[mcp_servers.sessions]\ncommand = "npx"\nargs = ["-y", "codex-mcp-server"]\n'
DEAD_INSPECTOR = '{"mcpServers": {"bridge": {"command": "uvx", "args": ["codex-as-mcp@latest"]}}}\n'


async def test_after_migrate_three_kinds_of_dead_entries_answer_in_their_clients(user: OrdinaryUser) -> None:
    """Codex's own server in Claude Code, the session wrapper in Codex, and a fork in the Inspector."""

    async def plan(used: list[Used]) -> Say | Use:
        names = ["codex", "agents"][len(used) :]
        return Use(f"mcp__{names[0]}__codex", {"prompt": f"ask {names[0]}"}) if names else Say("Done.")

    async with ScriptedModel(load_script(SCRIPT)) as model:
        files = {
            ".claude.json": DEAD_CLAUDE,
            ".codex/config.toml": DEAD_CODEX,
            ".mcp-inspector/mcp.json": DEAD_INSPECTOR,
        }
        setup = fresh_home(user, model, files)
        dead = await run(["codex", "mcp-server"], setup, {})
        assert (dead.code, "stdin is not a terminal" in dead.stderr) == (1, True)
        shown = ours(setup, "migrate", "--yes")
        assert all(name in shown for name in ("codex", "agents", "sessions", "bridge"))
        async with claude_at_work(setup, plan, "codex", "agents") as desk:
            await desk.finish()

        assert [called.json["content"] for called in desk.model.used] == ["Done: ask codex", "Done: ask agents"]
        servers = mcp_servers(setup)
        assert (servers["codex"]["env"], servers["agents"]["env"]) == ({"KEPT": "yes"}, {"RUST_LOG": "warn"})
        first, second, listed = await codex_at_work(setup, "sessions", "session_boss")
        assert (first["content"], second["content"]) == ("Done: the first half", "Done: the second half")
        assert [session["id"] for session in listed["sessions"]] == ["shop"]
        called = await inspected(setup, "bridge", "tools/call", "--tool-name", "codex", "--tool-arg", "prompt=ask it")
        assert called["structuredContent"]["content"] == "Done: ask it"
        assert ours(setup, "migrate") == "No client starts an old Codex server: nothing to do.\n"


def test_claude_code_connects_to_the_service_of_the_example(user: OrdinaryUser) -> None:
    """`serve --generate-token`, then `install claude --http`, over a dead entry of the same name."""
    folder = Path(tempfile.mkdtemp(dir=user.folder))
    setup = Setup(folder, environment={"PATH": user.search_path, "PYTHONPATH": "", **NOT_OUTSIDE})
    setup.make()
    write_whole(str(setup.home / ".claude.json"), DEAD_CLAUDE.encode())  # private, as Claude Code writes it
    user.take(folder)
    place = {"env": setup.env(), "cwd": setup.home, "text": True, **user.credentials}
    serve = ["codex-mcp", "serve", "--port", "0", "--generate-token"]
    with subprocess.Popen(serve, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, **place) as server:
        assert server.stderr is not None
        url = next(found[1] for line in server.stderr if (found := re.search(r"serving MCP at (\S+/mcp)", line)))
        words = ["codex-mcp", "install", "claude", "--http", url]
        installed = subprocess.run(words, capture_output=True, timeout=PATIENCE, check=False, **place)
        listed = subprocess.run(
            ["claude", "mcp", "get", "codex"], capture_output=True, timeout=PATIENCE, check=False, **place
        )
        server.terminate()
        server.communicate(timeout=PATIENCE)
    assert (installed.returncode, installed.stderr) == (0, "")
    assert "Replaced the old server codex" in installed.stdout
    assert "Connected" in listed.stdout, listed.stdout + listed.stderr


async def test_a_codex_agent_uses_the_installed_server(user: OrdinaryUser) -> None:
    async with ScriptedModel(load_script(SCRIPT)) as model:
        setup = fresh_home(user, model)
        assert "~/.codex/config.toml" in ours(setup, "install", "codex")
        told = [called["content"] for called in await codex_at_work(setup, "codex", "boss")]
        assert told == ["Done: the first half", "Done: the second half"]


async def test_the_inspector_finds_the_installed_server(user: OrdinaryUser) -> None:
    async with ScriptedModel(load_script(TOUR)) as model:
        setup = fresh_home(user, model)
        ours(setup, "install", "inspector")
        tools = (await inspected(setup, "codex", "tools/list"))["tools"]
        assert [tool["name"] for tool in tools] == ["codex", "codex-reply", "codex_wait"]
