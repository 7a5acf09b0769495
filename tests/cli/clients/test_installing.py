"""`install` where an entry of its name is already there: ours, dead, or of somebody else."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings

from codex_mcp.base.errors import Refused
from codex_mcp.cli.clients.config_text.documents import Format, read, with_entry
from codex_mcp.cli.clients.config_text.values import at
from codex_mcp.cli.clients.editing import current
from codex_mcp.cli.clients.entries import words_of
from codex_mcp.cli.clients.known import CLIENTS, Scope
from tests.support.clients.config_texts import file_of, randoms
from tests.support.clients.home import World
from tests.support.patience import PATIENCE

PLACES = [(client.name, scope) for client in CLIENTS.values() for scope in client.scopes()]
PROGRAM = str(Path(sys.executable).parent / "codex-mcp")
MOVED = "/old/checkout/.venv/bin/codex-mcp"

JSON_ENTRY = """{
  // mine
  "KEY": {
    "codex": { // the agents
      "command": "/old/checkout/.venv/bin/codex-mcp", // where it was
      "args": ["mcp-server", "-c", "model=\\"o3\\"", "--soft-deadline", "40"],
      "env": {"CODEX_HOME": "/elsewhere", "X": "y"}, /* needed */
      "cwd": "/some/where",
      "timeout": 60000,
      "alwaysAllow": ["codex"],
    },
  },
}
"""
TOML_ENTRY = """# mine
[mcp_servers.codex] # the agents
command = "/old/checkout/.venv/bin/codex-mcp" # where it was
args = ["mcp-server", "-c", "model=\\"o3\\"", "--soft-deadline", "40"]
cwd = "/some/where"
tool_timeout_sec = 60 # short
enabled_tools = ["codex"]

[mcp_servers.codex.env] # needed
CODEX_HOME = "/elsewhere"
"""


def text_of(client: str) -> str:
    form = CLIENTS[client].form
    return TOML_ENTRY if form is Format.TOML else JSON_ENTRY.replace("KEY", CLIENTS[client].key)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def written(world: World, client: str, entry: object, scope: Scope = Scope.USER) -> Path:
    """The file of a client with this server `codex`."""
    here = world.place(client, scope)
    file = Path(here.file)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(with_entry(here.client.form, b"", (*here.path, "codex"), entry))
    return file


def servers(world: World, client: str) -> object:
    here = world.place(client)
    return at(current(here)[1], here.path)


@pytest.mark.parametrize("client", CLIENTS)
def test_after_a_move_only_the_program_changes(world: World, client: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = world.file(client)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text_of(client))
    assert world.run("install", client) == 0
    assert file.read_text() == text_of(client).replace(MOVED, PROGRAM)
    shown = capsys.readouterr().out
    assert "Changed the server codex" in shown
    assert [line for line in shown.splitlines() if line.startswith("-") and MOVED in line]
    assert world.run("install", client) == 0
    assert "is unchanged" in capsys.readouterr().out


@pytest.mark.parametrize(("client", "scope"), PLACES)
@given(rng=randoms)
@settings(max_examples=5)
def test_in_any_file_a_moved_program_is_all_that_changes(
    tmp_path_factory: pytest.TempPathFactory, client: str, scope: Scope, rng: random.Random
) -> None:
    world = World(tmp_path_factory.mktemp("any"))
    here = world.place(client, scope)
    file = Path(here.file)
    file.parent.mkdir(parents=True, exist_ok=True)
    moved = {"command": MOVED, "args": ["serve", "--team", "x"], "env": {"A": "b"}, "mine": True}
    before = with_entry(here.client.form, file_of(rng, here), (*here.path, "codex"), moved)
    file.write_bytes(before)
    assert world.run("install", client, "--scope", scope) == 0
    assert file.read_bytes() == before.replace(json.dumps(MOVED).encode(), json.dumps(PROGRAM).encode())


@pytest.mark.parametrize(
    ("before", "flags", "after"),
    [
        ([MOVED, "serve", "--team", "red"], [], [PROGRAM, "serve", "--team", "red"]),
        ([MOVED, "mcp-server", "-c", "a=1"], ["--team"], [PROGRAM, "serve", "-c", "a=1"]),
        ([MOVED, "serve"], ["--no-team"], [PROGRAM, "mcp-server"]),
        ([PROGRAM, "serve"], [], [PROGRAM, "serve"]),
        ([MOVED], [], [PROGRAM, "mcp-server"]),
        (["env", "A=b", MOVED, "mcp-server"], [], ["env", "A=b", PROGRAM, "mcp-server"]),
        (["/gone/python", "-m", "codex_mcp", "serve", "--port", "1"], [], [PROGRAM, "serve", "--port", "1"]),
        (["uvx", "codex-mcp", "mcp-server"], [], ["uvx", "codex-mcp", "mcp-server"]),
        (["uvx", "codex-mcp", "mcp-server"], ["--team"], ["uvx", "codex-mcp", "serve"]),
        (["codex-mcp", "mcp-server"], [], [PROGRAM, "mcp-server"]),
        ([PROGRAM + "-server", "-c", "a=1"], [], [PROGRAM + "-server", "-c", "a=1"]),
    ],
)
def test_our_command_line_is_renewed(world: World, before: list[str], flags: list[str], after: list[str]) -> None:
    written(world, "cursor", {"command": before[0], "args": before[1:]})
    assert world.run("install", "cursor", *flags) == 0
    assert servers(world, "cursor") == {"codex": {"command": after[0], "args": after[1:]}}


@pytest.mark.parametrize("flags", [["--team", "red"], ["--turns-per-hour=3"], ["--no-auto-mail"], ["--resume"]])
def test_a_flag_that_only_a_team_has_is_not_left_behind(world: World, flags: list[str]) -> None:
    file = written(world, "cursor", {"command": PROGRAM, "args": ["serve", "-c", "a=1", *flags]})
    before = file.read_bytes()
    with pytest.raises(Refused, match=f"the entry has {flags[0]}, which only `codex-mcp serve` knows"):
        world.run("install", "cursor", "--no-team")
    assert file.read_bytes() == before
    assert world.run("install", "cursor", "--no-team", "--force") == 0


@pytest.mark.parametrize(
    "words",
    [
        ["bash", "-lc", f"exec {MOVED} mcp-server"],
        ["bash", "-c", f"source ~/.profile && exec {MOVED} serve --team red"],
        ["env", "-S", f"A=b {MOVED} mcp-server"],
        [f"{MOVED} mcp-server"],
    ],
)
def test_a_program_that_is_gone_is_named_if_a_shell_starts_it(world: World, words: list[str]) -> None:
    file = written(world, "cursor", {"command": words[0], "args": words[1:]})
    before = file.read_bytes()
    with pytest.raises(Refused, match=f"it starts {MOVED}, which is not there, through "):
        world.run("install", "cursor")
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    "words",
    [
        ["bash", "-lc", f"exec {PROGRAM} serve"],
        ["ssh", "box", f"{MOVED} mcp-server"],
        ["docker", "run", MOVED, "serve"],
    ],
)
def test_a_program_that_is_there_or_elsewhere_stays(world: World, words: list[str]) -> None:
    file = written(world, "cursor", {"command": words[0], "args": words[1:]})
    before = file.read_bytes()
    assert world.run("install", "cursor") == 0
    assert file.read_bytes() == before


def test_our_name_stays_if_it_is_on_the_path(world: World) -> None:
    programs = Path(world.environment["PATH"])
    programs.mkdir()
    (programs / "codex-mcp").symlink_to(PROGRAM)
    file = written(world, "cursor", {"command": "codex-mcp", "args": ["mcp-server"]})
    before = file.read_bytes()
    assert world.run("install", "cursor") == 0
    assert file.read_bytes() == before


@pytest.mark.parametrize("client", CLIENTS)
def test_a_dead_entry_is_replaced_in_its_place(world: World, client: str, capsys: pytest.CaptureFixture[str]) -> None:
    written(world, client, {"command": "codex", "args": ["-c", "a=1", "mcp-server"], "env": {"KEPT": "yes"}})
    assert world.run("install", client) == 0
    assert "Replaced the old server codex (codex mcp-server)" in capsys.readouterr().out
    new = {"command": PROGRAM, "args": ["mcp-server", "-c", "a=1"], "env": {"KEPT": "yes"}}
    assert servers(world, client) == {"codex": {**new, **CLIENTS[client].time_limit}}
    assert world.run("uninstall", client) == 0
    assert servers(world, client) in ({}, None)


def test_a_dead_entry_becomes_a_team_if_that_was_asked_for(world: World) -> None:
    written(world, "cursor", {"command": "npx", "args": ["@openai/codex", "mcp-server"]})
    assert world.run("install", "cursor", "--team") == 0
    assert servers(world, "cursor") == {"codex": {"command": PROGRAM, "args": ["serve"]}}


def test_a_dead_entry_that_cannot_be_rewritten_is_named(world: World) -> None:
    file = written(world, "cursor", {"command": "docker", "args": ["run", "codex", "mcp-server"]})
    before = file.read_bytes()
    with pytest.raises(Refused, match="starts codex mcp-server through docker run, which codex-mcp cannot change"):
        world.run("install", "cursor")
    assert file.read_bytes() == before


def test_other_dead_entries_of_the_client_are_named(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    written(world, "cursor", {"command": "codex", "args": ["mcp-server"]})
    assert world.run("install", "cursor", "--name", "agents") == 0
    told = capsys.readouterr().out
    assert "The server codex of Cursor starts an old Codex server: " in told
    assert "codex-mcp migrate changes it." in told


FOREIGN = {"command": "theirs", "args": ["x"], "env": {"A": "b"}, "disabled": True}


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("is_changed", [True, False])
def test_uninstall_brings_back_what_force_replaced(world: World, client: str, *, is_changed: bool) -> None:
    file = written(world, client, FOREIGN)
    before = file.read_bytes()
    assert world.run("install", client, "--force") == 0
    assert world.run("install", client, "--team") == 0
    if is_changed:  # as Claude Code does all the time
        here = world.place(client)
        file.write_bytes(with_entry(here.client.form, file.read_bytes(), (*here.path, "later"), {"command": "y"}))
    assert world.run("uninstall", client) == 0
    assert at(servers(world, client), ("codex",)) == FOREIGN
    assert is_changed or file.read_bytes() == before
    assert not list((world.home / ".codex/codex-mcp").glob("*.json"))


@pytest.mark.parametrize(
    "old",
    [["docker", "run", "x", "codex", "mcp-server"], ["bash", "-c", "source x && codex mcp-server"], ["codex", "mcp"]],
)
def test_uninstall_brings_back_an_old_server_that_force_replaced(world: World, old: list[str]) -> None:
    file = written(world, "cursor", {"command": old[0], "args": old[1:], "env": {"A": "b"}})
    before = file.read_bytes()
    assert world.run("install", "cursor", "--force") == 0
    assert words_of(at(servers(world, "cursor"), ("codex",))) == [PROGRAM, "mcp-server"]
    assert world.run("uninstall", "cursor") == 0
    assert file.read_bytes() == before


URL = "http://127.0.0.1:1/mcp"


@pytest.mark.parametrize("client", [client.name for client in CLIENTS.values() if client.url])
def test_our_entry_changes_between_a_command_and_an_address(world: World, client: str) -> None:
    file = world.file(client)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text_of(client))
    assert world.run("install", client, "--http", URL) == 0
    first = read(CLIENTS[client].form, file.read_bytes())
    entry = at(first, (*world.place(client).path, "codex"))
    assert isinstance(entry, dict)
    assert entry[CLIENTS[client].url or ""] == URL
    assert not {"command", "args", "env", "cwd"} & {*entry}
    assert entry.get("alwaysAllow") or entry.get("enabled_tools")
    assert world.run("install", client, "--http", URL.replace(":1", ":2")) == 0
    assert world.run("install", client) == 0
    back = at(servers(world, client), ("codex",))
    assert isinstance(back, dict)
    assert words_of(back) == [PROGRAM, "mcp-server"]
    assert not {"url", "httpUrl"} & {*back}
    assert world.run("uninstall", client) == 0


def test_an_address_that_was_not_installed_by_us_is_somebody_else_s(world: World) -> None:
    written(world, "cursor", {"url": "http://127.0.0.1:9/mcp"})
    for command in ("install", "uninstall"):
        with pytest.raises(Refused, match="--force"):
            world.run(command, "cursor")


@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_several_commands_at_once_lose_nothing(world: World, command: str) -> None:
    names = [f"agents-{number}" for number in range(6)]
    written(world, "cursor", FOREIGN)
    if command == "uninstall":
        for name in names:
            world.run("install", "cursor", "--name", name)
    environment = {**world.environment, "PATH": "/usr/bin:/bin"}
    started = [
        subprocess.Popen([PROGRAM, command, "cursor", "--name", name], env=environment, cwd=world.project)
        for name in names
    ]
    assert [process.wait(PATIENCE) for process in started] == [0] * 6
    found = servers(world, "cursor")
    assert isinstance(found, dict)
    assert {*found} == {"codex", *(names if command == "install" else [])}
