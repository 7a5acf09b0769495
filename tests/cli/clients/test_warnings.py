"""What `install` says about an entry that is right, and may not work all the same."""

import json
import stat
import sys
from pathlib import Path

import pytest

from codex_mcp.base.errors import Refused
from codex_mcp.cli.clients.known import CLIENTS, Scope
from codex_mcp.cli.clients.surroundings import client_named
from tests.support.clients.home import World

SIGN_IN = "you are not signed in to OpenAI"
NOT_HERE = "does not seem to be on this machine"
PERSONAL = "which only you have"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def program(world: World, name: str) -> None:
    path = Path(world.environment["PATH"]) / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def codex_home(world: World, **files: str) -> None:
    (world.home / ".codex").mkdir()
    for name, text in files.items():
        (world.home / ".codex" / name.replace("_", ".")).write_text(text)


def warned(world: World, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert world.run("install", *words) == 0
    return capsys.readouterr().err


@pytest.mark.parametrize("client", [name for name in CLIENTS if name != "inspector"])  # which npx starts
def test_a_client_that_is_not_here_is_named(world: World, capsys: pytest.CaptureFixture[str], client: str) -> None:
    assert f"{CLIENTS[client].title} {NOT_HERE}" in warned(world, capsys, client)
    assert NOT_HERE not in warned(world, capsys, client, "--name", "second")  # its file is there now


@pytest.mark.parametrize("client", [client.name for client in CLIENTS.values() if client.program])
def test_a_client_on_path_is_here(world: World, capsys: pytest.CaptureFixture[str], client: str) -> None:
    program(world, CLIENTS[client].program)
    assert NOT_HERE not in warned(world, capsys, client)


@pytest.mark.parametrize("client", ["cursor", "continue", "junie"])
def test_the_folder_of_a_program_with_a_window_shows_that_it_is_here(
    world: World, capsys: pytest.CaptureFixture[str], client: str
) -> None:
    (world.home / f".{client}").mkdir()
    assert NOT_HERE not in warned(world, capsys, client)


@pytest.mark.parametrize(
    ("files", "is_warned"),
    [
        ({}, True),
        ({"config_toml": 'model = "x"'}, True),
        ({"auth_json": "{}"}, False),
        ({"config_toml": 'model_provider = "ollama"'}, False),
        ({"config_toml": 'cli_auth_credentials_store = "keyring"'}, False),
    ],
)
def test_a_missing_sign_in_is_named(
    world: World, capsys: pytest.CaptureFixture[str], files: dict[str, str], *, is_warned: bool
) -> None:
    codex_home(world, **files)
    assert (SIGN_IN in warned(world, capsys, "claude")) is is_warned


def test_a_broken_configuration_is_named_and_not_a_sign_in(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    codex_home(world, config_toml="[broken")
    told = warned(world, capsys, "claude")
    assert SIGN_IN not in told
    assert f"cannot read {world.home / '.codex/config.toml'}: " in told
    assert "fix the file" in " ".join(told.split())


def test_a_server_that_runs_already_has_its_own_sign_in(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert SIGN_IN not in warned(world, capsys, "claude", "--http", "http://127.0.0.1:9/mcp")


def test_a_path_of_one_person_in_a_file_of_all_is_named(
    world: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = world.home / "venv/bin/codex-mcp"
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(path)])
    assert PERSONAL in warned(world, capsys, "claude", "--scope", "project")
    assert PERSONAL not in warned(world, capsys, "claude")
    told = warned(world, capsys, "claude", "--scope", "project", "--command", "uvx codex-mcp")
    assert PERSONAL not in told
    assert entry(world, Scope.PROJECT)["command"] == "uvx"


def entry(world: World, scope: Scope = Scope.USER) -> dict[str, object]:
    servers: dict[str, dict[str, object]] = json.loads(world.file("claude", scope).read_text())["mcpServers"]
    return servers["codex"]


def test_the_command_can_be_chosen_and_changed(world: World) -> None:
    world.run("install", "claude", "--command", "uvx codex-mcp")
    assert (entry(world)["command"], entry(world)["args"]) == ("uvx", ["codex-mcp", "mcp-server"])
    world.run("install", "claude")
    assert entry(world)["command"] == "uvx"
    world.run("install", "claude", "--command", "codex-mcp", "--team")
    assert (entry(world)["command"], entry(world)["args"]) == ("codex-mcp", ["serve"])


@pytest.mark.parametrize("words", ["", "sleep 1", "codex mcp-server", "npx codex-mcp-server", "'"])
def test_a_command_that_does_not_start_codex_mcp_is_refused(world: World, words: str) -> None:
    with pytest.raises(Refused, match="cannot use --command"):
        world.run("install", "claude", "--command", words)
    assert world.files() == {}


def test_a_line_for_a_shell_does_not_get_another_command(world: World) -> None:
    file = world.file("claude")
    file.write_text(json.dumps({"mcpServers": {"codex": {"command": "sh", "args": ["-c", "a; codex-mcp mcp-server"]}}}))
    with pytest.raises(Refused, match="cannot use --command"):
        world.run("install", "claude", "--command", "codex-mcp")


@pytest.mark.parametrize(
    ("word", "client"), [("claude", "claude"), ("Claude", "claude"), ("VSCODE", "vscode"), ("codex", "codex")]
)
def test_a_client_is_found_however_it_is_written(word: str, client: str) -> None:
    assert client_named(word) == client


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("claude-code", "did you mean claude?"),
        ("cursr", "did you mean cursor?"),
        ("vs-code", "did you mean vscode?"),
        ("claude-desktop", "did you mean desktop?"),
        ("gemini-cli", "did you mean gemini?"),
        ("\x1b[31m", "there is no client \\u{1b}[31m. These are known: claude, codex"),
        ("emacs", "there is no client emacs. These are known: "),
    ],
)
def test_the_client_that_was_probably_meant_is_named(word: str, hint: str) -> None:
    with pytest.raises(Refused) as refused:
        client_named(word)
    assert hint in str(refused.value)
