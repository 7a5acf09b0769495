"""The configuration files of the known clients, as they write them."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.cli.doctor.client_files import Place, plain_json, read_clients
from codex_mcp.cli.doctor.facts import Entry, UnreadableFile
from tests.support.json_values import JSON_VALUES

DEAD = {"command": "codex", "args": ["mcp-server"]}
SERVERS = {"mcpServers": {"codex": DEAD}}
ZED = '// settings\n{"context_servers": {"codex": {"command": {"path": "codex", "args": ["mcp-server"]},},},}\n'

FILES = {
    "home/.claude.json": (json.dumps({**SERVERS, "numStartups": 3}), "Claude Code"),
    "work/.mcp.json": (json.dumps(SERVERS), "Claude Code"),
    "home/.config/Claude/claude_desktop_config.json": (json.dumps(SERVERS), "Claude Desktop"),
    "home/Library/Application Support/Claude/claude_desktop_config.json": (json.dumps(SERVERS), "Claude Desktop"),
    "codex/config.toml": ('[mcp_servers.codex]\ncommand = "codex"\nargs = ["mcp-server"]\n', "Codex"),
    "home/.cursor/mcp.json": ("\ufeff" + json.dumps(SERVERS, indent=2), "Cursor"),
    "work/.cursor/mcp.json": (json.dumps(SERVERS), "Cursor"),
    "home/.config/Code/User/mcp.json": (json.dumps({"servers": {"codex": DEAD}}), "VS Code"),
    "work/.vscode/mcp.json": (json.dumps({"servers": {"codex": DEAD}}), "VS Code"),
    "home/.config/zed/settings.json": (ZED, "Zed"),
    "home/.gemini/settings.json": (json.dumps(SERVERS), "Gemini CLI"),
}


def place(folder: Path) -> Place:
    return Place(str(folder / "home"), str(folder / "codex"), str(folder / "work"), "/usr/bin:/bin")


def written(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


def read(folder: Path) -> list[Entry | UnreadableFile]:
    return list(read_clients(place(folder)))


@pytest.mark.parametrize("name", FILES)
def test_the_servers_of_a_client_are_found(tmp_path: Path, name: str) -> None:
    text, client = FILES[name]
    path = written(tmp_path, name, text)
    assert read(tmp_path) == [Entry(client, path, "codex", ("codex", "mcp-server"), is_program_there=False)]


def test_the_servers_of_each_project_are_found(tmp_path: Path) -> None:
    written(tmp_path, "home/.claude.json", json.dumps({"projects": {"/a": SERVERS, "/b": SERVERS, "/c": {}}}))
    assert len(read(tmp_path)) == 2


def test_limits_are_in_seconds(tmp_path: Path) -> None:
    written(tmp_path, "work/.mcp.json", json.dumps({"mcpServers": {"a": {**DEAD, "timeout": 60_000}}}))
    written(tmp_path, "codex/config.toml", '[mcp_servers.b]\ncommand = "x"\ntool_timeout_sec = 90\n')
    assert [entry.timeout for entry in read(tmp_path) if isinstance(entry, Entry)] == [60.0, 90.0]


def test_a_program_is_looked_for_on_the_path_and_at_its_place(tmp_path: Path) -> None:
    gone = str(tmp_path / "gone")
    servers = {"a": {"command": "sh"}, "b": {"command": gone}, "c": {"command": "no-such-program"}, "d": {"url": "x"}}
    written(tmp_path, "work/.mcp.json", json.dumps({"mcpServers": servers}))
    assert [entry.is_program_there for entry in read(tmp_path) if isinstance(entry, Entry)] == [
        True,
        False,
        False,
        True,
    ]


@pytest.mark.parametrize("text", ["{", '{"mcpServers": {"a": }}', "\xff"])
def test_a_file_that_cannot_be_read_is_reported(tmp_path: Path, text: str) -> None:
    path = tmp_path / "work/.mcp.json"
    path.parent.mkdir()
    path.write_bytes(text.encode("latin-1"))
    (found,) = read(tmp_path)
    assert isinstance(found, UnreadableFile)
    assert found.file == str(path)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"mcpServers": []}', '{"mcpServers": {"a": 1}}'])
def test_a_file_without_servers_is_empty(tmp_path: Path, text: str) -> None:
    written(tmp_path, "work/.mcp.json", text)
    assert read(tmp_path) == []


def test_a_home_that_is_also_the_working_folder_is_read_once(tmp_path: Path) -> None:
    written(tmp_path, ".cursor/mcp.json", json.dumps(SERVERS))
    both = str(tmp_path)
    assert len(list(read_clients(Place(both, str(tmp_path / "codex"), both, "")))) == 1


@given(JSON_VALUES)
def test_json_without_comments_stays_as_it_is(value: object) -> None:
    text = json.dumps(value)
    assert plain_json(text) == text


@given(JSON_VALUES, st.sampled_from(["// a, ]\n", "/* a, } */", "\n"]))
def test_comments_and_last_commas_are_left_out(value: object, comment: str) -> None:
    text = f'{comment}{{"a": [{json.dumps(value)}, {comment}], {comment}}}{comment}'
    assert json.dumps(json.loads(plain_json(text))) == json.dumps({"a": [value]})
