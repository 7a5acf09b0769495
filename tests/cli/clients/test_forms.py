"""Entries in the forms that single clients have: opencode's list, Cline's transport, Zed's old command."""

import json
from pathlib import Path
from typing import Any

import pytest

from codex_mcp.cli.clients.entries import words_of
from codex_mcp.cli.clients.known import CLIENTS, Scope
from codex_mcp.cli.clients.own_entry import entry
from tests.cli.clients.test_installing import MOVED, PROGRAM
from tests.support.clients.home import World

ROOT = Path(__file__).parents[3]

Json = dict[str, Any]

ADDRESS = "http://127.0.0.1:9/mcp"
"""Where nothing listens."""


def in_form(client: str, words: list[str]) -> Json:
    """An entry as this client's own command writes it, with everything that a person may add."""
    program, *args = words
    return {
        "opencode": {"type": "local", "command": words, "environment": {"A": "b"}, "enabled": True},
        "cline": {
            "transport": {"type": "stdio", "command": program, "args": args, "env": {"A": "b"}},
            "disabled": False,
            "timeout": 60,
        },
        "zed": {"command": {"path": program, "args": args, "env": {"A": "b"}}, "settings": {"x": 1}},
    }[client]


FORMS = ["opencode", "cline", "zed"]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def written(file: Path, key: str, entry: Json) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({key: {"codex": entry}}, indent=2))


def server(file: Path, key: str) -> Json:
    found: Json = json.loads(file.read_text())[key]["codex"]
    return found


@pytest.mark.parametrize("client", FORMS)
def test_install_changes_the_program_in_the_form_of_the_client(world: World, client: str) -> None:
    file, key = world.file(client), CLIENTS[client].key
    written(file, key, in_form(client, [MOVED, "serve", "--team", "x"]))
    assert world.run("install", client) == 0
    assert server(file, key) == in_form(client, [PROGRAM, "serve", "--team", "x"])


@pytest.mark.parametrize("client", FORMS)
def test_migrate_replaces_an_old_server_in_the_form_of_the_client(world: World, client: str) -> None:
    file, key = world.file(client), CLIENTS[client].key
    written(file, key, in_form(client, ["env", "B=c", "codex", "mcp-server", "-c", "a=1"]))
    assert world.run("migrate", "--yes") == 0
    wanted = in_form(client, [PROGRAM, "mcp-server", "-c", "a=1"])
    holder = {"opencode": wanted, "cline": wanted.get("transport"), "zed": wanted["command"] if client == "zed" else {}}
    holder[client]["environment" if client == "opencode" else "env"]["B"] = "c"
    assert server(file, key) == {**CLIENTS[client].time_limit, **wanted}


@pytest.mark.parametrize("client", FORMS)
def test_uninstall_recognises_our_program_in_the_form_of_the_client(world: World, client: str) -> None:
    file, key = world.file(client), CLIENTS[client].key
    written(file, key, in_form(client, [PROGRAM, "mcp-server"]))
    assert world.run("uninstall", client) == 0
    assert json.loads(file.read_text())[key] == {}


def test_between_command_and_address_an_entry_of_cline_keeps_its_form(world: World) -> None:
    file = world.file("cline")
    written(file, "mcpServers", in_form("cline", [PROGRAM, "mcp-server"]))
    assert world.run("install", "cline", "--http", ADDRESS) == 0
    rest = {"disabled": False, "timeout": 60}
    assert server(file, "mcpServers") == {"transport": {"type": "streamableHttp", "url": ADDRESS}, **rest}
    assert world.run("install", "cline") == 0
    back = {"type": "stdio", "command": PROGRAM, "args": ["mcp-server"]}
    assert server(file, "mcpServers") == {"transport": back, **rest}


def test_between_command_and_address_opencode_gets_the_fields_of_the_other_kind(world: World) -> None:
    file = world.file("opencode")
    written(file, "mcp", {**in_form("opencode", [PROGRAM, "mcp-server"]), "timeout": 7000})
    assert world.run("install", "opencode", "--http", ADDRESS) == 0
    assert server(file, "mcp") == {"type": "remote", "url": ADDRESS, "enabled": True, "timeout": 7000}
    assert world.run("install", "opencode") == 0
    wanted = {"type": "local", "command": [PROGRAM, "mcp-server"], "enabled": True, "timeout": 7000}
    assert server(file, "mcp") == wanted


def test_a_transport_beside_a_command_is_not_what_the_client_starts() -> None:
    """Only an entry without a command of its own is read in Cline's form."""
    assert words_of({"command": "evil", "transport": {"command": "codex-mcp"}}) == ["evil"]


def test_each_client_is_told_the_program_in_its_form() -> None:
    assert entry(CLIENTS["opencode"], ["p", "a"])["command"] == ["p", "a"]
    for name in CLIENTS:
        assert words_of(entry(CLIENTS[name], ["p", "a"])) == ["p", "a"]


@pytest.mark.parametrize("name", ["opencode", "qwen", "copilot", "cline"])
def test_the_page_about_clients_shows_what_install_writes(name: str) -> None:
    client = CLIENTS[name]
    _, _, section = (ROOT / "docs/clients.md").read_text().partition(f"`codex-mcp install {name}` writes this")
    shown = json.loads(section.partition("```json\n")[2].partition("```")[0])
    assert shown == {client.key: {"codex": entry(client, ["codex-mcp", "mcp-server"])}}


@pytest.mark.parametrize("scope", [Scope.USER, Scope.PROJECT])
def test_if_opencode_has_a_file_with_comments_that_one_is_used(world: World, scope: Scope) -> None:
    plain = world.file("opencode", scope)
    commented = plain.with_suffix(".jsonc")
    commented.parent.mkdir(parents=True, exist_ok=True)
    text = '{\n  // mine\n  "theme": "x"\n}\n'
    commented.write_text(text)
    assert world.run("install", "opencode", "--scope", scope) == 0
    assert (plain.exists(), "// mine" in commented.read_text()) == (False, True)
    plain.write_text("{}\n")  # the server stays where it is
    assert world.run("uninstall", "opencode", "--scope", scope) == 0
    assert (plain.read_text(), commented.read_text()) == ("{}\n", text)


def test_migrate_looks_into_both_files_of_opencode(world: World) -> None:
    plain = world.file("opencode")
    for file in (plain, plain.with_suffix(".jsonc")):
        written(file, "mcp", in_form("opencode", ["codex", "mcp-server"]))
    assert world.run("migrate", "--yes") == 0
    for file in (plain, plain.with_suffix(".jsonc")):
        wanted = in_form("opencode", [PROGRAM, "mcp-server"])
        assert server(file, "mcp") == {**wanted, **CLIENTS["opencode"].time_limit}


def test_gemini_is_said_to_disable_servers_in_a_folder_without_trust(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.run("install", "gemini")
    shown = capsys.readouterr().out
    assert "In a folder that you have not trusted, it disables all MCP servers" in shown
    assert "/permissions trust" in shown
