"""`migrate` on real files: what it finds, shows, asks and rewrites."""

import json
import random
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings

from codex_mcp.cli.clients.config_text.documents import read, with_entry
from codex_mcp.cli.clients.config_text.values import at
from codex_mcp.cli.clients.editing import current
from codex_mcp.cli.clients.known import CLIENTS, Client, Scope
from tests.support.clients.config_texts import file_of, randoms
from tests.support.clients.home import World
from tests.support.servers.terminal import Terminal

PLACES = [(client.name, scope) for client in CLIENTS.values() for scope in client.scopes()]

PROGRAM = str(Path(sys.executable).parent / "codex-mcp")

CLAUDE = """{
  "numStartups": 3,
  "mcpServers": {
    "codex": {
      "type": "stdio",
      "command": "codex",
      "args": ["mcp-server"],
      "env": {"CODEX_HOME": "/elsewhere"},
      "timeout": 5
    },
    "other": {"command": "npx", "args": ["-y", "something"]}
  },
  "projects": {
    "/some/project": {"mcpServers": {"sessions": {"command": "npx", "args": ["-y", "codex-mcp-server"], "timeout": 5}}}
  }
}
"""

CODEX = b"""# mine\r
[mcp_servers.codex-agents] # theirs\r
command = "env" # why\r
args = ["A=b", "codex", "mcp-server"]\r
startup_timeout_sec = 20\r
tool_timeout_sec = 5\r
\r
# other\r
[tui]\r
x = 1\r
"""

ZED = """{
  // mine
  "context_servers": {"old": {"command": {"path": "codex", "args": ["mcp-server"]}, "settings": {}}},
}
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    texts = {"claude": CLAUDE.encode(), "codex": CODEX, "zed": ZED.encode()}
    for client, text in texts.items():
        world.file(client).parent.mkdir(parents=True, exist_ok=True)
        world.file(client).write_bytes(text)
    (world.project / ".mcp.json").write_text(
        '{"mcpServers": {"codex": {"command": "uvx", "args": ["codex-as-mcp@latest"]}}}'
    )
    return world


def test_it_rewrites_old_entries_and_nothing_else(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    before = world.files()
    assert world.run("migrate", "--yes") == 0
    program = json.dumps(PROGRAM)
    sessions = ["mcp-server", "--tools", "sessions"]
    expected = CLAUDE.replace('"command": "codex"', f'"command": {program}')
    expected = expected.replace(
        '"npx", "args": ["-y", "codex-mcp-server"]', f'{program}, "args": {json.dumps(sessions)}'
    )
    assert world.file("claude").read_text() == expected
    codex = CODEX.replace(b'"env" # why', f"{program} # why".encode())
    codex = codex.replace(b'args = ["A=b", "codex", "mcp-server"]', b'args = ["mcp-server"]')
    codex = codex.replace(b"tool_timeout_sec = 5\r\n", b'tool_timeout_sec = 5\r\nenv = { A = "b" }\r\n')
    assert world.file("codex").read_bytes() == codex
    assert world.file("zed").read_text() == ZED.replace('"codex"', program)
    assert at(read(CLIENTS["claude"].form, (world.project / ".mcp.json").read_bytes()), ("mcpServers", "codex")) == {
        "command": PROGRAM,
        "args": ["mcp-server"],
        **CLIENTS["claude"].time_limit,
    }
    backups = [data for name, data in world.files().items() if "/backups/" in name]
    assert sorted(backups) == sorted(before.values())
    assert "codex of Claude Code (project): its tools had other names" in capsys.readouterr().out
    assert world.run("migrate") == 0
    assert capsys.readouterr().out == "No client starts an old Codex server: nothing to do.\n"


@pytest.mark.parametrize(("client", "scope"), PLACES)
@given(rng=randoms)
@settings(max_examples=10)
def test_in_any_file_it_changes_only_the_command(
    tmp_path_factory: pytest.TempPathFactory, client: str, scope: Scope, rng: random.Random
) -> None:
    world = World(tmp_path_factory.mktemp("any"))
    here = world.place(client, scope)
    file = Path(here.file)
    file.parent.mkdir(parents=True, exist_ok=True)
    dead = {"command": "codex", "args": ["mcp-server"], **dict.fromkeys(here.client.time_limit, 5)}
    before = with_entry(here.client.form, file_of(rng, here), (*here.path, "agents"), dead)
    file.write_bytes(before)
    assert world.run("migrate", "--yes") == 0
    after = file.read_bytes()
    assert at(read(here.client.form, after), (*here.path, "agents", "command")) == PROGRAM
    assert after.replace(json.dumps(PROGRAM).encode(), b'"codex"') == before


@pytest.mark.parametrize("client", [client for client in CLIENTS.values() if client.time_limit], ids=lambda it: it.name)
def test_an_entry_without_a_time_limit_gets_that_of_install(tmp_path: Path, client: Client) -> None:
    world = World(tmp_path)
    here = world.place(client.name)
    file = Path(here.file)
    file.parent.mkdir(parents=True, exist_ok=True)
    dead = {"command": "codex", "args": ["mcp-server"]}
    file.write_bytes(with_entry(client.form, None, (*here.path, "agents"), dead))
    assert world.run("migrate", "--yes") == 0
    after = at(read(client.form, file.read_bytes()), (*here.path, "agents"))
    assert after == {"command": PROGRAM, "args": ["mcp-server"], **client.time_limit}


def test_without_a_terminal_it_shows_the_plan_and_exits_with_1(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    before = world.files()
    assert world.run("migrate") == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["SERVER", "CLIENT", "STARTS", "WILL", "START", "FILE"]
    assert "codex mcp-server" in lines[1]
    assert "codex-mcp mcp-server --tools sessions" in lines[2]
    assert lines[-1] == "Nothing was changed; --yes changes it."
    assert world.files() == before


def test_a_dry_run_shows_diffs_and_changes_nothing(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    before = world.files()
    assert world.run("migrate", "--dry-run", "--yes") == 0
    shown = capsys.readouterr().out
    assert shown.count("\n--- ~/") == 4
    assert f'+      "command": "{PROGRAM}",' in shown
    assert world.files() == before


def test_json_lists_the_entries(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert world.run("migrate", "--json") == 1
    plan = json.loads(capsys.readouterr().out)
    assert (plan["schema"], plan["changed"], plan["problems"]) == (1, False, [])
    assert [(entry["client"], entry["scope"], entry["name"], entry["kind"]) for entry in plan["entries"]] == [
        ("claude", "user", "codex", "codex mcp-server"),
        ("claude", "local", "sessions", "session wrapper"),
        ("claude", "project", "codex", "bridge"),
        ("codex", "user", "codex-agents", "codex mcp-server"),
        ("zed", "user", "old", "codex mcp-server"),
    ]
    assert plan["entries"][1]["project"] == "/some/project"
    assert plan["entries"][0]["becomes"] == [PROGRAM, "mcp-server"]
    assert world.run("migrate", "--json", "--yes") == 0
    assert json.loads(capsys.readouterr().out)["changed"] is True
    assert world.run("migrate", "--json") == 0


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("n", 1), ("", 1), ("\x04", 1)])
def test_at_a_terminal_it_asks(world: World, answer: str, code: int) -> None:
    before = world.files()
    with Terminal([PROGRAM, "migrate"], world.environment, 80) as terminal:
        terminal.wait_for("Change them? [y/N] ")
        lines = terminal.shown.splitlines()
        terminal.type(answer if answer == "\x04" else answer + "\n")
        assert terminal.exit_code() == code
    assert max(map(len, lines)) <= 80
    assert (world.files() == before) == bool(code)


@pytest.mark.parametrize("columns", [60, 80, 160])
def test_a_person_sees_the_commands_whole(world: World, columns: int) -> None:
    with Terminal([PROGRAM, "migrate"], world.environment, columns) as terminal:
        terminal.wait_for("Change them? [y/N] ")
        lines = terminal.shown.splitlines()
        terminal.type("n\n")
        terminal.exit_code()
    assert max(map(len, lines)) <= columns
    assert "…" not in terminal.shown
    assert ("will start:  codex-mcp mcp-server --tools sessions" in terminal.shown) == (columns < 160)


def test_a_file_that_cannot_be_read_is_told_and_the_others_are_changed(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.file("claude").write_text('{"mcpServers": {')
    assert world.run("migrate", "--yes") == 1
    assert ".claude.json: it cannot be read as JSON: line 1, column 17: " in capsys.readouterr().err
    here = world.place("zed")
    assert at(current(here)[1], (*here.path, "old", "command", "path")) == PROGRAM


def test_what_it_cannot_read_is_not_called_nothing_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world = World(tmp_path)
    world.file("claude").write_text('{"mcpServers": {')
    assert world.run("migrate", "--yes") == 1
    assert capsys.readouterr().out == "The other files start no old Codex server.\n"


def test_what_it_cannot_rewrite_is_named_and_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world = World(tmp_path)
    lines = {"boxed": ["docker", "run", "codex", "mcp-server"], "shell": ["bash", "-c", ". x && codex mcp-server"]}
    servers = {name: {"command": words[0], "args": words[1:]} for name, words in lines.items()}
    text = json.dumps({"mcpServers": {**servers, "whole": {"command": "codex mcp-server"}}})
    world.file("claude").write_text(text)
    assert world.run("migrate", "--yes") == 1
    shown = capsys.readouterr().out
    assert "boxed of Claude Code, ~/.claude.json: it starts codex mcp-server through docker run, which" in shown
    assert "shell of Claude Code, ~/.claude.json: it starts codex mcp-server through bash -c, which" in shown
    after = json.loads(world.file("claude").read_text())["mcpServers"]
    limit = CLIENTS["claude"].time_limit
    assert after == {**servers, "whole": {"command": PROGRAM, "args": ["mcp-server"], **limit}}
    assert world.run("migrate", "--json") == 1
    document = json.loads(capsys.readouterr().out)
    assert [(each["name"], each["through"]) for each in document["stuck"]] == [
        ("boxed", "docker run"),
        ("shell", "bash -c"),
    ]


def test_a_read_only_file_is_told_and_the_others_are_changed(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.file("claude").chmod(0o444)
    assert world.run("migrate", "--yes") == 1
    assert ".claude.json: it is read-only" in capsys.readouterr().err
    assert world.file("claude").read_text() == CLAUDE
    assert PROGRAM in world.file("zed").read_text()


def test_uninstall_after_migrate_does_not_bring_the_old_entry_back(world: World) -> None:
    world.run("migrate", "--yes")
    assert world.run("uninstall", "claude") == 0
    servers = at(current(world.place("claude"))[1], ("mcpServers",))
    assert servers == {"other": {"command": "npx", "args": ["-y", "something"]}}


def test_our_own_wrapper_is_no_old_server_and_npm_s_is(world: World) -> None:
    ours = Path(sys.executable).parent / "codex-mcp-server"
    file = world.file("cursor", Scope.USER)
    file.parent.mkdir()
    file.write_text(
        json.dumps({"mcpServers": {"ours": {"command": str(ours)}, "npm": {"command": "codex-mcp-server"}}})
    )
    world.run("migrate", "--yes")
    servers = at(current(world.place("cursor"))[1], ("mcpServers",))
    assert at(servers, ("ours",)) == {"command": str(ours)}
    assert at(servers, ("npm", "args")) == ["mcp-server", "--tools", "sessions"]
