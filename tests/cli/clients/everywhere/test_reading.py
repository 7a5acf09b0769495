"""The configuration files of the known clients, as they write them."""

import json
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from codex_mcp.cli.clients.everywhere.entry import Entry, UnreadableFile
from codex_mcp.cli.clients.everywhere.reading import read_clients
from codex_mcp.cli.clients.known import Folders
from codex_mcp.cli.clients.recognition.servers import recognised
from codex_mcp.cli.clients.surroundings import folders

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


def where(home: Path, work: Path, codex: Path, *, is_macos: bool = False) -> Folders:
    environment = {"CODEX_HOME": str(codex)}
    return folders(environment, home=str(home), project=str(work), repository=str(work), is_macos=is_macos)


def written(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


def read(folder: Path) -> list[Entry | UnreadableFile]:
    here = where(folder / "home", folder / "work", folder / "codex", is_macos=(folder / "home/Library").exists())
    return list(read_clients(here, {"PATH": "/usr/bin:/bin"}))


@pytest.mark.parametrize("name", FILES)
def test_the_servers_of_a_client_are_found(tmp_path: Path, name: str) -> None:
    text, client = FILES[name]
    path = written(tmp_path, name, text)
    starts = recognised(["codex", "mcp-server"])
    words = ("codex", "mcp-server")
    scope = "project" if name.startswith("work/") else "user"
    (found,) = read(tmp_path)
    expected = Entry(client, path, "codex", words, is_program_there=False, starts=starts, scope=scope)
    assert isinstance(found, Entry)
    assert replace(expected, path=found.path) == found
    assert found.path[-1] == "codex"


def test_the_servers_of_each_project_are_found(tmp_path: Path) -> None:
    written(tmp_path, "home/.claude.json", json.dumps({"projects": {"/a": SERVERS, "/b": SERVERS, "/c": {}}}))
    found = [each for each in read(tmp_path) if isinstance(each, Entry)]
    assert [(each.scope, each.project) for each in found] == [("local", "/a"), ("local", "/b")]


def test_the_address_and_the_variables_of_an_entry_are_read(tmp_path: Path) -> None:
    servers = {"a": {"command": "sh", "env": {"A": "b"}}, "b": {"url": "http://127.0.0.1:9/mcp"}, "c": {"url": 7}}
    written(tmp_path, "work/.mcp.json", json.dumps({"mcpServers": servers}))
    found = [each for each in read(tmp_path) if isinstance(each, Entry)]
    assert [each.env for each in found] == [{"A": "b"}, {}, {}]
    assert [each.url for each in found] == [None, "http://127.0.0.1:9/mcp", None]


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


def test_a_program_in_a_text_for_a_shell_is_looked_for(tmp_path: Path) -> None:
    for program, is_there in (
        (str(tmp_path / "gone/codex-mcp"), False),
        (str(Path(sys.executable).parent / "codex-mcp"), True),
    ):
        server = {"command": "bash", "args": ["-c", f"exec {program} serve"]}
        written(tmp_path, "work/.mcp.json", json.dumps({"mcpServers": {"a": server}}))
        (entry,) = read(tmp_path)
        assert isinstance(entry, Entry)
        assert (entry.program, entry.is_program_there) == (program, is_there)


@pytest.mark.parametrize("text", ["{", "[]", '{"mcpServers": {"a": }}', "\xff"])
def test_a_file_that_cannot_be_read_is_reported(tmp_path: Path, text: str) -> None:
    path = tmp_path / "work/.mcp.json"
    path.parent.mkdir()
    path.write_bytes(text.encode("latin-1"))
    (found,) = read(tmp_path)
    assert isinstance(found, UnreadableFile)
    assert found.file == str(path)


@pytest.mark.parametrize("text", ["", "{}", '{"mcpServers": []}', '{"mcpServers": {"a": 1}}'])
def test_a_file_without_servers_is_empty(tmp_path: Path, text: str) -> None:
    written(tmp_path, "work/.mcp.json", text)
    assert read(tmp_path) == []


def test_a_home_that_is_also_the_working_folder_is_read_once(tmp_path: Path) -> None:
    written(tmp_path, ".cursor/mcp.json", json.dumps(SERVERS))
    assert len(list(read_clients(where(tmp_path, tmp_path, tmp_path / "codex"), {}))) == 1
