"""Pure. The old servers in the values of a client's file, and what each entry becomes.

Only the command, its arguments and the variables of its command line change, and a time limit is added where there is
none. The name, `env` and everything else stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from codex_mcp.cli.clients.config_text.documents import Format, read, with_entry
from codex_mcp.cli.clients.config_text.values import at
from codex_mcp.cli.clients.entries import Shape, shape_of, words_of
from codex_mcp.cli.clients.known import Place, Scope
from codex_mcp.cli.clients.recognition.servers import Buried, IsOurs, Old, recognised


class OldEntry(Struct, frozen=True):
    """An entry that starts an old server."""

    place: Place
    path: tuple[str, ...]
    """Where the entry is in the file."""

    was: list[str]

    @property
    def name(self) -> str:
        return self.path[-1]

    @property
    def project(self) -> str | None:
        """The project of an entry that Claude Code keeps for one project in the user's file."""
        return self.path[1] if self.path[0] == "projects" else None


class Stuck(OldEntry, frozen=True):
    """One that only a person can change."""

    old: Buried


class Found(OldEntry, frozen=True):
    """One whose replacement is known."""

    old: Old
    shape: Shape


def old_entries(place: Place, values: Mapping[str, object], is_ours: IsOurs) -> Iterator[Found | Stuck]:
    """The old servers of a file, in its order."""
    for path in holders(place, values):
        servers = at(values, path)
        if not isinstance(servers, Mapping):
            continue
        for name, entry in servers.items():
            found = old_entry(place, (*path, name), entry, is_ours)
            if found is not None:
                yield found


def old_entry(place: Place, path: tuple[str, ...], entry: object, is_ours: IsOurs) -> Found | Stuck | None:
    """The entry at this path, if it starts an old server."""
    words = words_of(entry)
    match recognised(words, is_ours):
        case Old() as old:
            return Found(place, path, words, old, shape_of(entry))
        case Buried() as buried:
            return Stuck(place, path, words, buried)
    return None


def holders(place: Place, values: Mapping[str, object]) -> Iterator[tuple[str, ...]]:
    """The objects of a file that hold servers. In a project's file, `projects` means nothing."""
    yield place.path
    projects = values.get("projects")
    if place.client.has_local and place.scope is Scope.USER and isinstance(projects, Mapping):
        yield from (("projects", project, place.client.key) for project in projects)


def migrated(form: Format, data: bytes, found: Sequence[Found], program: Sequence[str]) -> bytes:
    """The file with these entries rewritten to start our program. Raises Unreadable or Uneditable."""
    for one in found:
        for where, value in one.shape.fields(becomes(one, program)).items():
            data = with_entry(form, data, (*one.path, *where), value)
        env = (*one.path, *one.shape.inside, one.shape.env)
        if isinstance(at(read(form, data), env), Mapping):
            for variable, value in one.old.environment.items():
                data = with_entry(form, data, (*env, variable), value)
        elif one.old.environment:
            data = with_entry(form, data, env, one.old.environment)
        for key, value in one.place.client.time_limit.items():
            if at(read(form, data), (*one.path, key)) is None:
                data = with_entry(form, data, (*one.path, key), value)
    return data


def becomes(found: Found, program: Sequence[str]) -> list[str]:
    """The new command line."""
    return [*program, *found.old.args]
