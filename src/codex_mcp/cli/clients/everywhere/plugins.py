"""The servers that plugins bring to Claude Code. Nobody but Claude Code changes their files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from codex_mcp.base.errors import Explained
from codex_mcp.cli.clients.config_files import read_config
from codex_mcp.cli.clients.config_text.documents import Format, read
from codex_mcp.cli.clients.config_text.unreadable import Unreadable
from codex_mcp.cli.clients.config_text.values import at
from codex_mcp.cli.clients.known import CLIENTS, Folders, Place, Scope

SCOPE: Final = "plugin"
CLAUDE: Final = CLIENTS["claude"]


def servers_of_plugins(where: Folders) -> Iterator[tuple[Place, str, Mapping[str, object]]]:
    """Each server of a plugin that the user has enabled: its file, its name in Claude Code, and its entry."""
    folder = f"{where.home}/.claude" if where.claude == where.home else where.claude
    enabled = at(_values(f"{folder}/settings.json"), ("enabledPlugins",))
    installed = at(_values(f"{folder}/plugins/installed_plugins.json"), ("plugins",))
    for plugin, places in _table(installed).items():
        path = _path_for_user(places)
        if path is None or at(enabled, (plugin,)) is not True:
            continue
        here = Place(CLAUDE, Scope.USER, f"{path}/.mcp.json", (CLAUDE.key,))
        servers = at(_values(here.file), here.path)
        for name, server in _table(servers).items():
            if isinstance(server, Mapping):
                yield here, f"plugin:{plugin.partition('@')[0]}:{name}", server


def _path_for_user(places: object) -> str | None:
    """Where the plugin is that the user has for all projects."""
    if not isinstance(places, list):
        return None
    for place in places:
        path = at(place, ("installPath",))
        if at(place, ("scope",)) == Scope.USER and isinstance(path, str):
            return path
    return None


def _table(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _values(file: str) -> Mapping[str, object]:
    """What is in a file of Claude Code; nothing, if it cannot be read."""
    try:
        return read(Format.JSON, read_config(file))
    except (Unreadable, Explained):
        return {}
