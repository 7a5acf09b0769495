"""The table of the clients."""

import re
from pathlib import Path

import msgspec
import pytest

from codex_mcp.base.errors import Refused
from codex_mcp.cli.clients.known import CLIENTS, Scope, place
from codex_mcp.cli.clients.own_entry import entry
from codex_mcp.cli.clients.surroundings import folders

PAGE = Path(__file__).parents[3] / "docs/clients.md"

MACOS = folders({"XDG_CONFIG_HOME": "/xdg"}, home="/Users/me", project="/p", repository="/r", is_macos=True)
LINUX = folders({}, home="/home/me", project="/p", repository="/r", is_macos=False)


@pytest.mark.parametrize(
    ("client", "linux", "macos"),
    [
        ("claude", "/home/me/.claude.json", "/Users/me/.claude.json"),
        ("codex", "/home/me/.codex/config.toml", "/Users/me/.codex/config.toml"),
        ("cursor", "/home/me/.cursor/mcp.json", "/Users/me/.cursor/mcp.json"),
        ("vscode", "/home/me/.config/Code/User/mcp.json", "/Users/me/Library/Application Support/Code/User/mcp.json"),
        ("zed", "/home/me/.config/zed/settings.json", "/Users/me/.config/zed/settings.json"),
        ("gemini", "/home/me/.gemini/settings.json", "/Users/me/.gemini/settings.json"),
        ("opencode", "/home/me/.config/opencode/opencode.json", "/xdg/opencode/opencode.json"),
        ("qwen", "/home/me/.qwen/settings.json", "/Users/me/.qwen/settings.json"),
        ("copilot", "/home/me/.copilot/mcp-config.json", "/Users/me/.copilot/mcp-config.json"),
        (
            "cline",
            "/home/me/.cline/data/settings/cline_mcp_settings.json",
            "/Users/me/.cline/data/settings/cline_mcp_settings.json",
        ),
        (
            "windsurf",
            "/home/me/.codeium/windsurf/mcp_config.json",
            "/Users/me/.codeium/windsurf/mcp_config.json",
        ),
        (
            "insiders",
            "/home/me/.config/Code - Insiders/User/mcp.json",
            "/Users/me/Library/Application Support/Code - Insiders/User/mcp.json",
        ),
        ("junie", "/home/me/.junie/mcp/mcp.json", "/Users/me/.junie/mcp/mcp.json"),
        ("amp", "/home/me/.config/amp/settings.json", "/Users/me/.config/amp/settings.json"),
        (
            "continue",
            "/home/me/.continue/mcpServers/codex-mcp.json",
            "/Users/me/.continue/mcpServers/codex-mcp.json",
        ),
        (
            "desktop",
            "/home/me/.config/Claude/claude_desktop_config.json",
            "/Users/me/Library/Application Support/Claude/claude_desktop_config.json",
        ),
        ("inspector", "/home/me/.mcp-inspector/mcp.json", "/Users/me/.mcp-inspector/mcp.json"),
    ],
)
def test_each_client_has_its_file_on_linux_and_macos(client: str, linux: str, macos: str) -> None:
    assert place(CLIENTS[client], Scope.USER, LINUX).file == linux
    assert place(CLIENTS[client], Scope.USER, MACOS).file == macos


def test_project_files_are_in_the_project_and_local_entries_belong_to_the_repository() -> None:
    assert place(CLIENTS["vscode"], Scope.PROJECT, LINUX).file == "/p/.vscode/mcp.json"
    local = place(CLIENTS["claude"], Scope.LOCAL, LINUX)
    assert (local.file, local.path) == ("/home/me/.claude.json", ("projects", "/r", "mcpServers"))


def test_a_relative_path_in_the_environment_is_ignored() -> None:
    where = folders({"CODEX_HOME": "codex"}, home="/home/me", project="/p", repository="/p", is_macos=False)
    assert where.codex == "/home/me/.codex"


def test_a_scope_that_a_client_lacks_is_refused() -> None:
    with pytest.raises(Refused, match="it has only user"):
        place(CLIENTS["inspector"], Scope.PROJECT, LINUX)


@pytest.mark.parametrize(
    ("client", "variable", "file"),
    [
        ("opencode", "XDG_CONFIG_HOME", "/x/opencode/opencode.json"),
        ("qwen", "QWEN_HOME", "/x/settings.json"),
        ("copilot", "COPILOT_HOME", "/x/mcp-config.json"),
        ("cline", "CLINE_DIR", "/x/data/settings/cline_mcp_settings.json"),
        ("cline", "CLINE_DATA_DIR", "/x/settings/cline_mcp_settings.json"),
        ("cline", "CLINE_MCP_SETTINGS_PATH", "/x"),
        ("continue", "CONTINUE_GLOBAL_DIR", "/x/mcpServers/codex-mcp.json"),
    ],
)
def test_a_variable_of_the_client_moves_its_file(client: str, variable: str, file: str) -> None:
    where = folders({variable: "/x"}, home="/home/me", project="/p", repository="/p", is_macos=False)
    assert place(CLIENTS[client], Scope.USER, where).file == file


@pytest.mark.parametrize("name", ["gemini", "opencode", "qwen", "copilot", "cline"])
def test_the_page_about_clients_shows_what_install_writes(name: str) -> None:
    written = rf"`codex-mcp install {name}` writes this.*?```json\n(.*?)```"
    (shown,) = re.findall(written, PAGE.read_text(), re.DOTALL)
    client = CLIENTS[name]
    assert msgspec.json.decode(shown) == {client.key: {"codex": entry(client, ["codex-mcp", "mcp-server"])}}
