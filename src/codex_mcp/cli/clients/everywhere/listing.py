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
from codex_mcp.cli.clients.http_access import Answer, asked
from codex_mcp.cli.clients.known import Folders, Scope
from codex_mcp.cli.clients.own_folder.records import Records
from codex_mcp.cli.clients.recognition.servers import Buried, Old, Ours
from codex_mcp.cli.clients.surroundings import short
from codex_mcp.cli.mcp_client.client import ServerLaunch, Unattended, connected
from codex_mcp.cli.output import SCHEMA, print_json, print_table, print_text

TITLES: Final = ("CLIENT", "SCOPE", "NAME", "STARTS", "STATE")
PATIENCE: Final = 20.0
"""Seconds for a server's first answer, as clients have them."""

ANSWERS: Final = {
    Answer.SERVES: "answers",
    Answer.WANTS_TOKEN: "answers",
    Answer.IS_OTHER: "something else answers there",
    Answer.SILENT: "nothing answers there",
}

NOT_STARTED: Final = "not tried, since a project's file may start any program"
NOT_FROM_HERE: Final = "not tried, since its program may be one of this project"

NONE: Final = "No client has codex-mcp yet: codex-mcp install CLIENT adds it, codex-mcp install --all to all of them."


class Row(Struct, frozen=True):
    """An entry of ours, or of an old server, and what became of its start."""

    entry: Entry
    state: str
    version: str | None = None


def show(where: Folders, environment: Mapping[str, str], *, as_json: bool) -> int:
    found = list(read_clients(where, environment))
    rows = asyncio.run(_tried([each for each in found if isinstance(each, Entry)], where, environment))
    unreadable = [each for each in found if isinstance(each, UnreadableFile)]
    if as_json:
        print_json({"schema": SCHEMA, "entries": [_described(row) for row in rows], "unreadable": unreadable})
        return 0
    for file in unreadable:
        text = f"cannot read {short(file.file, where.home)} of {file.client}: {file.why}"
        print(f"codex-mcp install: {text}", file=sys.stderr)
    if rows:
        print_table(TITLES, [_cells(row, where) for row in rows], whole=3)
    else:
        print_text(NONE)
    return 0


async def _tried(entries: Sequence[Entry], where: Folders, environment: Mapping[str, str]) -> list[Row]:
    """One after the other: each start takes a processor."""
    records = Records(where)
    rows = []
    for entry in entries:
        if isinstance(entry.starts, Old | Buried):
            rows.append(Row(entry, f"an old server ({entry.starts.kind}): codex-mcp migrate"))
        elif isinstance(entry.starts, Ours):
            rows.append(await _started(entry, where, environment))
        elif entry.url is not None and entry.url == records.of(entry.file, entry.path).url:
            rows.append(Row(entry, ANSWERS[asked(entry.url, None)]))
    return rows


async def _started(entry: Entry, where: Folders, environment: Mapping[str, str]) -> Row:
    """Start it and say hello: in the home folder, and with no program of the project in which we are."""
    if entry.scope == Scope.PROJECT:
        return Row(entry, NOT_STARTED)
    if not entry.is_program_there:
        return Row(entry, f"{entry.program} is not there: codex-mcp install again")
    folders = programs.places(environment.get("PATH", os.defpath), where.project)
    program = _found(entry.words[0], folders)
    if program is None:
        return Row(entry, NOT_FROM_HERE)
    variables = {**environment, "PATH": os.pathsep.join(folders), **entry.env}
    launch = ServerLaunch([program, *entry.words[1:]], variables, where.home)
    try:
        async with asyncio.timeout(PATIENCE), connected(launch, Unattended()) as client:
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
    starts = redact(shlex.join(entry.words)) if entry.words else redact(entry.url or "")
    state = row.state if row.version is None else f"{row.state} ({row.version})"
    return entry.client, scope, entry.name, starts, state


def _described(row: Row) -> dict[str, object]:
    entry = row.entry
    return {
        "client": entry.client,
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
