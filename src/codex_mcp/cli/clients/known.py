"""Pure. The known clients: where each keeps its servers on Linux and macOS, and what it is told about ours.

This is the one table to edit when a client moves its file, or when a client is added. `{config}` and the other names in
braces are explained at `Folders`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.base.errors import Refused
from codex_mcp.cli.clients.config_text.documents import Format
from codex_mcp.cli.clients.entries import ONE_LIST, Shape

HOUR: Final = 3600
DAY_MS: Final = 24 * HOUR * 1000
HOUR_MS: Final = HOUR * 1000


class Scope(StrEnum):
    """For whom a server is configured."""

    USER = "user"
    PROJECT = "project"
    LOCAL = "local"


class Folders(Struct, frozen=True):
    """The folders in which clients keep their files."""

    home: str
    project: str
    repository: str
    """The Git repository around the project, else the project."""

    config: str
    """XDG_CONFIG_HOME, else ~/.config; on macOS, ~/.config."""

    support: str
    """Where desktop programs keep their files: as `config`; on macOS, ~/Library/Application Support."""

    claude: str
    """CLAUDE_CONFIG_DIR, else the home folder."""

    codex: str
    """CODEX_HOME, else ~/.codex."""

    gemini: str
    """GEMINI_CLI_HOME, else the home folder."""

    opencode: str
    """`opencode` in XDG_CONFIG_HOME, else in ~/.config; so on macOS, too."""

    qwen: str
    """QWEN_HOME, else ~/.qwen."""

    copilot: str
    """COPILOT_HOME, else ~/.copilot."""

    cline: str
    """CLINE_MCP_SETTINGS_PATH, else the file below CLINE_DATA_DIR, CLINE_DIR or ~/.cline: a file."""

    continue_dev: str
    """CONTINUE_GLOBAL_DIR, else ~/.continue."""

    inspector: str
    """MCP_CATALOG_PATH, else ~/.mcp-inspector/mcp.json: a file."""


class Client(Struct, frozen=True):
    """A program that starts MCP servers."""

    name: str
    title: str
    user: str
    """The file of a user."""

    project: str | None = None
    """The file of a project; None if it has none."""

    twin: str = ""
    """The ending of a second file beside each of these, which the client reads in the same way."""

    key: str = "mcpServers"
    """The object of the file that holds the servers."""

    form: Format = Format.JSON
    shape: Shape = Shape()
    """How an entry names its command."""

    stdio: Mapping[str, object] = {}
    """What stands beside `command` and `args`."""

    url: str | None = "url"
    """What the address of a server is called; None if it takes none."""

    http: Mapping[str, object] = {}
    """What stands beside the address."""

    headers: str = "headers"
    """The object that holds the headers for an address."""

    variable: str = ""
    """How a header names a variable, with % for its name; empty if it cannot."""

    variable_key: str = ""
    """The key for the variable that holds a token, if it needs no header."""

    limit: str = ""
    """The key of a server's time limit per call; empty if it has none."""

    limit_unit: float = 0.001
    """Of the limit, in seconds."""

    has_local: bool = False
    """It also keeps servers per project in the user's file."""

    program: str = ""
    """Its program on PATH; empty if it is started in another way, as by npx."""

    has_window: bool = False
    """It need not be on PATH; its folder shows that it is there."""

    folder: str = ""
    """This folder, if it is not that of the user's file."""

    next_step: str = ""
    """What to do afterwards."""

    @property
    def time_limit(self) -> Mapping[str, object]:
        """The field with the time limit for a server that it starts."""
        return {self.limit: self.stdio[self.limit]} if self.limit in self.stdio else {}

    def scopes(self) -> Sequence[Scope]:
        wanted = {Scope.USER: True, Scope.PROJECT: self.project is not None, Scope.LOCAL: self.has_local}
        return [scope for scope, is_there in wanted.items() if is_there]


CLIENTS: Final = {
    client.name: client
    for client in (
        Client(
            "claude",
            "Claude Code",
            "{claude}/.claude.json",
            ".mcp.json",
            # A limit of its own would end a call in spite of its progress; a day is practically none.
            stdio={"type": "stdio", "timeout": DAY_MS},
            http={"type": "http", "timeout": DAY_MS},
            variable="${%}",
            limit="timeout",
            has_local=True,
            program="claude",
            next_step="Start Claude Code, or type /mcp in one that runs.",
        ),
        Client(
            "codex",
            "Codex",
            "{codex}/config.toml",
            ".codex/config.toml",
            key="mcp_servers",
            form=Format.TOML,
            stdio={"tool_timeout_sec": HOUR, "supports_parallel_tool_calls": True},
            http={"tool_timeout_sec": HOUR, "supports_parallel_tool_calls": True},
            headers="http_headers",
            variable_key="bearer_token_env_var",
            limit="tool_timeout_sec",
            limit_unit=1.0,
            program="codex",
            next_step="Start Codex again.",
        ),
        Client(
            "cursor",
            "Cursor",
            "{home}/.cursor/mcp.json",
            ".cursor/mcp.json",
            variable="${env:%}",
            program="cursor",
            has_window=True,
            next_step="Reload Cursor's window.",
        ),
        Client(
            "vscode",
            "VS Code",
            "{support}/Code/User/mcp.json",
            ".vscode/mcp.json",
            key="servers",
            stdio={"type": "stdio"},
            http={"type": "http"},
            variable="${env:%}",
            program="code",
            has_window=True,
            next_step="Run `MCP: List Servers` in VS Code and start it.",
        ),
        Client(
            # No time limit: older versions read its `timeout` as milliseconds, newer ones as seconds.
            "zed",
            "Zed",
            "{config}/zed/settings.json",
            ".zed/settings.json",
            key="context_servers",
            program="zed",
            has_window=True,
            next_step="Zed reads the file at once.",
        ),
        Client(
            "gemini",
            "Gemini CLI",
            "{gemini}/.gemini/settings.json",
            ".gemini/settings.json",
            stdio={"timeout": HOUR_MS},
            url="httpUrl",
            http={"timeout": HOUR_MS},
            variable="${%}",
            limit="timeout",
            program="gemini",
            next_step="Start Gemini CLI again. In a folder that you have not trusted, it disables all MCP servers, "
            "also yours: type /permissions trust in it; `gemini mcp list` shows the state.",
        ),
        Client(
            "opencode",
            "opencode",
            "{opencode}/opencode.json",
            "opencode.json",
            twin="c",
            key="mcp",
            shape=ONE_LIST,
            stdio={"type": "local", "timeout": HOUR_MS},
            http={"type": "remote", "timeout": HOUR_MS},
            variable="{env:%}",
            limit="timeout",
            program="opencode",
            next_step="Start opencode again.",
        ),
        Client(
            "qwen",
            "Qwen Code",
            "{qwen}/settings.json",
            ".qwen/settings.json",
            stdio={"timeout": HOUR_MS},
            url="httpUrl",
            http={"timeout": HOUR_MS},
            variable="${%}",
            limit="timeout",
            program="qwen",
            next_step="Start Qwen Code again.",
        ),
        Client(
            "copilot",
            "Copilot CLI",
            "{copilot}/mcp-config.json",
            ".github/mcp.json",
            stdio={"type": "local", "tools": ["*"], "timeout": HOUR_MS},
            http={"type": "http", "tools": ["*"], "timeout": HOUR_MS},
            variable="${%}",
            limit="timeout",
            program="copilot",
            next_step="Start Copilot CLI again. It reads a project's file only in a folder that you have trusted.",
        ),
        Client(
            "cline",
            "Cline",
            "{cline}",
            stdio={"type": "stdio", "timeout": HOUR},
            http={"type": "streamableHttp", "timeout": HOUR},
            limit="timeout",
            limit_unit=1.0,
            program="cline",
            next_step="Start Cline again.",
        ),
        Client(
            "windsurf",
            "Windsurf",
            "{home}/.codeium/windsurf/mcp_config.json",
            url="serverUrl",
            variable="${env:%}",
            program="windsurf",
            has_window=True,
            next_step="Refresh the MCP servers in Cascade's settings.",
        ),
        Client(
            "insiders",
            "VS Code Insiders",
            "{support}/Code - Insiders/User/mcp.json",
            key="servers",
            stdio={"type": "stdio"},
            http={"type": "http"},
            variable="${env:%}",
            program="code-insiders",
            has_window=True,
            next_step="Run `MCP: List Servers` in VS Code Insiders and start it.",
        ),
        Client(
            "junie",
            "JetBrains Junie",
            "{home}/.junie/mcp/mcp.json",
            ".junie/mcp/mcp.json",
            url=None,
            program="junie",
            has_window=True,
            folder="{home}/.junie",
            next_step="Look at Settings, Tools, Junie, MCP Settings in your IDE.",
        ),
        Client(
            "amp",
            "Amp",
            "{config}/amp/settings.json",
            ".amp/settings.json",
            twin="c",
            key="amp.mcpServers",
            variable="${%}",
            program="amp",
            next_step="Start Amp again. It asks you before it starts a server of a project's file.",
        ),
        Client(
            # It reads every .json file of this folder; this one is ours.
            "continue",
            "Continue",
            "{continue_dev}/mcpServers/codex-mcp.json",
            ".continue/mcpServers/codex-mcp.json",
            stdio={"type": "stdio"},
            http={"type": "http"},
            program="cn",
            has_window=True,
            folder="{continue_dev}",
            next_step="Reload the window of your editor, and choose Continue's agent mode.",
        ),
        Client(
            "desktop",
            "Claude Desktop",
            "{support}/Claude/claude_desktop_config.json",
            url=None,
            has_window=True,
            next_step="Quit Claude Desktop and start it again.",
        ),
        Client(
            "inspector",
            "MCP Inspector",
            "{inspector}",
            stdio={"type": "stdio", "requestTimeout": HOUR_MS},
            http={"type": "streamable-http", "requestTimeout": HOUR_MS},
            limit="requestTimeout",
            next_step="Run npx @modelcontextprotocol/inspector.",
        ),
    )
}


class Place(Struct, frozen=True):
    """Where a client keeps its servers: a file, and the path of an object in it."""

    client: Client
    scope: Scope
    file: str
    path: tuple[str, ...]

    @property
    def title(self) -> str:
        """For people: the client, and for whom."""
        return f"{self.client.title} ({self.scope})"


def places_of(client: Client, scope: Scope, where: Folders) -> list[Place]:
    """All files with this client's servers of this scope. Raises Refused."""
    first = place(client, scope, where)
    return [first, replace(first, file=first.file + client.twin)] if client.twin else [first]


def place(client: Client, scope: Scope, where: Folders) -> Place:
    """Where this client keeps the servers of this scope. Raises Refused."""
    if scope not in client.scopes():
        known = " or ".join(client.scopes())
        raise Refused(f"cannot use --scope {scope} for {client.title}: it has only {known}")
    if scope is Scope.PROJECT:
        return Place(client, scope, f"{where.project}/{client.project}", (client.key,))
    inside = ("projects", where.repository, client.key) if scope is Scope.LOCAL else (client.key,)
    return Place(client, scope, filled(client.user, where), inside)


def filled(path: str, where: Folders) -> str:
    """A path of the table, with the folders in the place of their names."""
    return path.format_map({name: getattr(where, name) for name in where.__struct_fields__})
