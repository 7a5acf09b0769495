"""Reads the servers in the configuration files of the MCP clients that `cli.clients.known` lists."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from codex_mcp.base.errors import Explained
from codex_mcp.cli.clients.config_files import read_config
from codex_mcp.cli.clients.config_text.documents import read
from codex_mcp.cli.clients.config_text.unreadable import Unreadable
from codex_mcp.cli.clients.config_text.values import at
from codex_mcp.cli.clients.entries import words_of
from codex_mcp.cli.clients.known import Folders, Place
from codex_mcp.cli.clients.migration import holders
from codex_mcp.cli.clients.scan import places
from codex_mcp.cli.clients.surroundings import started_by
from codex_mcp.cli.doctor.facts import Entry, UnreadableFile


def read_clients(where: Folders, environment: Mapping[str, str]) -> Iterator[Entry | UnreadableFile]:
    """The entries of all files that exist. Programs are looked for on the PATH of this environment."""
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
                    yield _entry(here, server, name, environment)


def _entry(place: Place, server: Mapping[str, object], name: str, environment: Mapping[str, str]) -> Entry:
    words = words_of(server)
    client = place.client
    limit = server.get(client.limit) if client.limit else None
    timeout = float(limit) * client.limit_unit if isinstance(limit, int | float) else None
    search_path = environment.get("PATH", os.defpath)
    found = Entry(client.title, place.file, name, tuple(words), timeout=timeout, starts=started_by(words, environment))
    there = not words or shutil.which(os.path.expanduser(found.program), path=search_path) is not None
    return replace(found, is_program_there=there)
