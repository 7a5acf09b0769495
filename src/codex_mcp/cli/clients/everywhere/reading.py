"""Reads the servers in the configuration files of the MCP clients that `cli.clients.known` lists."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from codex_mcp.base.errors import Explained
from codex_mcp.base.processes.programs import on_path
from codex_mcp.cli.clients.config_files import read_config
from codex_mcp.cli.clients.config_text.documents import read
from codex_mcp.cli.clients.config_text.unreadable import Unreadable
from codex_mcp.cli.clients.config_text.values import at
from codex_mcp.cli.clients.entries import connection_of, shape_of, words_of
from codex_mcp.cli.clients.everywhere.entry import Entry, UnreadableFile
from codex_mcp.cli.clients.everywhere.plugins import SCOPE as PLUGIN
from codex_mcp.cli.clients.everywhere.plugins import servers_of_plugins
from codex_mcp.cli.clients.known import Folders, Place, Scope
from codex_mcp.cli.clients.migration import holders
from codex_mcp.cli.clients.own_folder.records import Records
from codex_mcp.cli.clients.scan import places
from codex_mcp.cli.clients.surroundings import started_by


def read_clients(where: Folders, environment: Mapping[str, str]) -> Iterator[Entry | UnreadableFile]:
    """The entries of all files that exist, and those of plugins. Programs are looked for on this environment's PATH."""
    records = Records(where)
    for here in places(where):
        try:
            values = read(here.client.form, read_config(here.file))
        except (Unreadable, Explained) as error:
            yield UnreadableFile(here.client.title, here.file, str(error).removeprefix(f"cannot read {here.file}: "))
            continue
        for path in holders(here, values):
            servers = at(values, path)
            if not isinstance(servers, Mapping):
                continue
            for name, server in servers.items():
                if isinstance(server, Mapping):
                    entry = _entry(here, server, (*path, name), environment)
                    is_recorded = entry.url is not None and entry.url == records.of(entry.file, entry.path).url
                    yield replace(entry, is_recorded=True) if is_recorded else entry
    for here, name, server in servers_of_plugins(where):
        yield replace(_entry(here, server, (*here.path, name), environment), scope=PLUGIN)


def _entry(here: Place, server: Mapping[str, object], path: Sequence[str], environment: Mapping[str, str]) -> Entry:
    words = words_of(server)
    client = here.client
    limit = server.get(client.limit) if client.limit else None
    found = Entry(
        client.title,
        here.file,
        path[-1],
        tuple(words),
        timeout=float(limit) * client.limit_unit if isinstance(limit, int | float) else None,
        starts=started_by(words, environment),
        scope=Scope.LOCAL if path[0] == "projects" else here.scope,
        path=tuple(path),
        env=_variables(at(server, (*shape_of(server).inside, shape_of(server).env))),
        url=_text(at(server, (*connection_of(server), client.url or "url"))),
    )
    search_path = environment.get("PATH", os.defpath)
    there = not words or on_path(os.path.expanduser(found.program), search_path) is not None
    return replace(found, is_program_there=there)


def _variables(value: object) -> dict[str, str]:
    return {str(name): str(each) for name, each in value.items()} if isinstance(value, Mapping) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
