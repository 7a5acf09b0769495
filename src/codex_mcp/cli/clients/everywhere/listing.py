"""`codex-mcp install --list`: which clients have codex-mcp or an old server, and whether it starts."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from codex_mcp.base.errors import Explained
from codex_mcp.base.processes import programs
from codex_mcp.base.secrets.redact import redact
from codex_mcp.cli.clients.everywhere.entry import Entry, UnreadableFile
from codex_mcp.cli.clients.everywhere.reading import read_clients
from codex_mcp.cli.clients.http_access import ANSWERS, asked
from codex_mcp.cli.clients.known import CLIENTS, Folders, Scope
from codex_mcp.cli.clients.recognition.servers import Buried, Old, Ours
from codex_mcp.cli.clients.surroundings import short
from codex_mcp.cli.mcp_client.client import ServerLaunch, Unattended, connect
from codex_mcp.cli.output import SCHEMA, print_json, print_table, print_text, terminal_width
from codex_mcp.cli.sentences import complain, fitted, say
from codex_mcp.cli.tables import whole_width

TITLES: Final = ("CLIENT", "SCOPE", "NAME", "STARTS", "STATE")
PATIENCE: Final = 20.0
"""Seconds for a server's first answer, as clients have them."""

NOT_STARTED: Final = "not tried, since a project's file may start any program"
NOT_FROM_HERE: Final = "not tried, since its program may be one of this project"

NAMES: Final = {client.title: client.name for client in CLIENTS.values()}
"""As `install` and `migrate` name the clients."""

NONE: Final = "No client has codex-mcp yet: codex-mcp install CLIENT adds it, codex-mcp install --all to all of them."


class Row(Struct, frozen=True):
    """An entry of ours, or of an old server, and what became of its start."""

    entry: Entry
    state: str
    version: str | None = None


def show(where: Folders, environment: Mapping[str, str], *, as_json: bool) -> int:
    found = list(read_clients(where, environment))
    rows = asyncio.run(_try_each([each for each in found if isinstance(each, Entry)], where, environment))
    unreadable = [each for each in found if isinstance(each, UnreadableFile)]
    if as_json:
        print_json({"schema": SCHEMA, "entries": [_described(row) for row in rows], "unreadable": unreadable})
        return 0
    for file in unreadable:
        text = f"cannot read {short(file.file, where.home)} of {file.client}: {file.why}"
        complain("install", text)
    if rows:
        _print([_cells(row, where) for row in rows])
    else:
        say(NONE)
    return 0


def _print(rows: Sequence[tuple[str, ...]]) -> None:
    """A table, if it fits: a person needs the whole state."""
    width = terminal_width()
    if width is None or whole_width(TITLES, rows) <= width:
        print_table(TITLES, rows)
        return
    for client, scope, name, starts, state in rows:
        say(f"{name} of {client} ({scope}): {state}")
        print_text(fitted(f"    {starts}", sys.stdout))  # as it is in the file, also where PATH does not have us


async def _try_each(entries: Sequence[Entry], where: Folders, environment: Mapping[str, str]) -> list[Row]:
    """One after the other: each start takes a processor."""
    rows = []
    for entry in entries:
        if isinstance(entry.starts, Old | Buried) and entry.is_of_plugin:
            rows.append(Row(entry, f"an old server ({entry.starts.kind}): update the plugin"))
        elif isinstance(entry.starts, Old):
            rows.append(Row(entry, f"an old server ({entry.starts.kind}): codex-mcp migrate"))
        elif isinstance(entry.starts, Buried):
            rows.append(Row(entry, f"an old server ({entry.starts.kind}) through {entry.starts.through}: change it"))
        elif isinstance(entry.starts, Ours):
            rows.append(await _start(entry, where, environment))
        elif entry.is_recorded:
            rows.append(Row(entry, ANSWERS[asked(entry.url or "", None)]))
    return rows


async def _start(entry: Entry, where: Folders, environment: Mapping[str, str]) -> Row:
    """Start it and say hello: in the home folder, and with no program of the project in which we are."""
    if entry.scope == Scope.PROJECT:
        return Row(entry, NOT_STARTED)
    if not entry.is_program_there and entry.is_of_plugin:
        return Row(entry, f"{entry.program} is not on PATH")
    if not entry.is_program_there:
        return Row(entry, f"{entry.program} is not there: codex-mcp install again")
    folders = programs.places(environment.get("PATH", os.defpath), where.project)
    program = _found(entry.words[0], folders)
    if program is None:
        return Row(entry, NOT_FROM_HERE)
    variables = {**environment, "PATH": os.pathsep.join(folders), **entry.env}
    launch = ServerLaunch([program, *entry.words[1:]], variables, where.home)
    try:
        async with asyncio.timeout(PATIENCE), connect(launch, Unattended()) as client:
            return Row(entry, "starts", (await client.initialize()).server_info.version)
    except TimeoutError:
        return Row(entry, f"does not answer within {PATIENCE:g} s")
    except (Explained, OSError) as exc:
        return Row(entry, f"does not start: {exc}")


def _found(word: str, folders: list[str]) -> str | None:
    word = os.path.expanduser(word)
    if os.path.isabs(word):
        return word
    return None if "/" in word else programs.find(word, folders)


def _cells(row: Row, where: Folders) -> tuple[str, ...]:
    entry = row.entry
    scope = entry.scope if entry.project is None else f"{entry.scope} {short(entry.project, where.home)}"
    starts = redact(shlex.join(entry.words).replace(f"{where.home}/", "~/") or entry.url or "")
    state = row.state if row.version is None else f"{row.state} ({row.version})"
    return entry.client, scope, entry.name, starts, state


def _described(row: Row) -> dict[str, object]:
    entry = row.entry
    return {
        "client": NAMES[entry.client],
        "scope": entry.scope,
        "project": entry.project,
        "file": entry.file,
        "name": entry.name,
        "command": [redact(word) for word in entry.words],
        "url": None if entry.url is None else redact(entry.url),
        "starts": row.version is not None,
        "state": row.state,
        "version": row.version,
    }
