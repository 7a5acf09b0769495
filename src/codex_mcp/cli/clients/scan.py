"""Finds old Codex servers in the files of all clients, the user's and those of the current folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from codex_mcp.base.errors import Explained
from codex_mcp.cli.clients.editing import current
from codex_mcp.cli.clients.known import CLIENTS, Folders, Place, Scope, places_of
from codex_mcp.cli.clients.migration import Found, Stuck, old_entries
from codex_mcp.cli.clients.surroundings import is_our_wrapper


class Scanned(Struct, frozen=True):
    """A file with old servers."""

    place: Place
    data: bytes
    found: list[Found]
    stuck: list[Stuck]


def files_with_old_servers(where: Folders, environment: Mapping[str, str], problems: list[str]) -> Iterator[Scanned]:
    """The files that have any. A sentence about each file that cannot be read is added to `problems`."""
    for here in places(where):
        try:
            data, values = current(here)
        except Explained as error:
            problems.append(str(error))
            continue
        found = list(old_entries(here, values, lambda word: is_our_wrapper(word, environment)))
        if data is not None and found:
            yield Scanned(
                here,
                data,
                [each for each in found if isinstance(each, Found)],
                [each for each in found if isinstance(each, Stuck)],
            )


def places(where: Folders) -> Iterator[Place]:
    """The files of all clients, each once: in the home folder, the user's and the project's file may be the same."""
    seen: set[str] = set()
    for client in CLIENTS.values():
        scopes = [scope for scope in (Scope.USER, Scope.PROJECT) if scope in client.scopes()]
        for here in (each for scope in scopes for each in places_of(client, scope, where)):
            if here.file not in seen:
                seen.add(here.file)
                yield here
