"""Reads the servers in the configuration files of the MCP clients that we know.

client          file                                   servers are in             unit of their timeout
--------------  -------------------------------------  -------------------------  ---------------------
Claude Code     ~/.claude.json, .mcp.json              mcpServers, also of each   ms, `timeout`
                                                       project in ~/.claude.json
Claude Desktop  claude_desktop_config.json             mcpServers                 none
Codex           CODEX_HOME/config.toml                 mcp_servers                s, `tool_timeout_sec`
Cursor          ~/.cursor/mcp.json, .cursor/mcp.json   mcpServers                 none
VS Code         mcp.json of the user, .vscode/mcp.json servers                    none
Zed             ~/.config/zed/settings.json            context_servers            none
Gemini CLI      .gemini/settings.json                  mcpServers                 ms, `timeout`
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec
from msgspec import Struct

from codex_mcp.base.files import read_if_there
from codex_mcp.cli.doctor.facts import Entry, UnreadableFile


class ClientFile(Struct, frozen=True):
    client: str
    path: str
    key: str
    timeout_key: str = ""
    timeout_unit: float = 0.001
    """Seconds."""


class Place(Struct, frozen=True):
    """Where the files are."""

    home: str
    codex_home: str
    cwd: str
    search_path: str


LIBRARY: Final = os.path.join("Library", "Application Support")
"""The folder of applications on macOS; on Linux it is .config."""

JSON_TOKENS: Final = re.compile(
    r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/|,(?=\s*(?://[^\n]*\s*|/\*.*?\*/\s*)*[}\]])', re.DOTALL
)
"""Strings, comments, and commas before a closing bracket: editors allow the last two in their JSON."""


def known_files(place: Place) -> list[ClientFile]:
    home, here = place.home, place.cwd
    desktop = os.path.join("Claude", "claude_desktop_config.json")
    code = os.path.join("Code", "User", "mcp.json")
    return [
        ClientFile("Claude Code", os.path.join(home, ".claude.json"), "mcpServers", "timeout"),
        ClientFile("Claude Code", os.path.join(here, ".mcp.json"), "mcpServers", "timeout"),
        *(ClientFile("Claude Desktop", os.path.join(home, folder, desktop), "mcpServers") for folder in _app_folders()),
        ClientFile("Codex", os.path.join(place.codex_home, "config.toml"), "mcp_servers", "tool_timeout_sec", 1.0),
        *(ClientFile("Cursor", os.path.join(top, ".cursor", "mcp.json"), "mcpServers") for top in (home, here)),
        *(ClientFile("VS Code", os.path.join(home, folder, code), "servers") for folder in _app_folders()),
        ClientFile("VS Code", os.path.join(here, ".vscode", "mcp.json"), "servers"),
        ClientFile("Zed", os.path.join(home, ".config", "zed", "settings.json"), "context_servers"),
        *(
            ClientFile("Gemini CLI", os.path.join(top, ".gemini", "settings.json"), "mcpServers", "timeout")
            for top in (home, here)
        ),
    ]


def _app_folders() -> tuple[str, str]:
    return ".config", LIBRARY


def read_clients(place: Place) -> Iterator[Entry | UnreadableFile]:
    """The entries of all files that exist. A file that two rows name (here is the home) is read once."""
    for file in {file.path: file for file in known_files(place)}.values():
        try:
            content = _read(file.path)
        except (OSError, ValueError, msgspec.DecodeError, RecursionError) as exc:
            why = getattr(exc, "strerror", None) or str(exc)
            yield UnreadableFile(file.client, file.path, why)
        else:
            yield from _entries(file, content, place)


def _read(path: str) -> object:
    data = read_if_there(path)
    if data is None or not data.strip():
        return {}
    if path.endswith(".toml"):
        return msgspec.toml.decode(data)
    return msgspec.json.decode(plain_json(data.decode("utf-8-sig")))


def plain_json(text: str) -> str:
    """JSON without comments and trailing commas."""
    return JSON_TOKENS.sub(lambda found: found[0] if found[0].startswith('"') else " ", text)


def _entries(file: ClientFile, content: object, place: Place) -> Iterator[Entry]:
    tables = [content, *_values(_get(content, "projects"))]
    for table in tables:
        servers = _get(table, file.key)
        for name, server in servers.items() if isinstance(servers, Mapping) else ():
            if isinstance(server, Mapping):
                yield _entry(file, str(name), server, place)


def _entry(file: ClientFile, name: str, server: Mapping[object, object], place: Place) -> Entry:
    command, arguments = _get(server, "command"), _get(server, "args")
    if isinstance(command, Mapping):  # of Zed
        command, arguments = _get(command, "path"), _get(command, "args")
    words = [command] if isinstance(command, str) and command else []
    if words and isinstance(arguments, list):
        words += [word for word in arguments if isinstance(word, str)]
    limit = server.get(file.timeout_key) if file.timeout_key else None
    timeout = float(limit) * file.timeout_unit if isinstance(limit, int | float) else None
    there = not words or shutil.which(os.path.expanduser(words[0]), path=place.search_path) is not None
    return Entry(file.client, file.path, name, tuple(words), there, timeout)


def _get(table: object, key: str) -> object:
    return table.get(key) if isinstance(table, Mapping) else None


def _values(table: object) -> list[object]:
    return list(table.values()) if isinstance(table, Mapping) else []
