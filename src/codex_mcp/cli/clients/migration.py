"""Pure. The old servers in the values of a client's file, and what each entry becomes.

Only the command, its arguments and the variables of its command line change. The name, `env` and everything else stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct

from codex_mcp.cli.clients.config_text.documents import Format, read, with_entry
from codex_mcp.cli.clients.config_text.values import at
from codex_mcp.cli.clients.entries import is_ours, words_of
from codex_mcp.cli.clients.known import Place
from codex_mcp.cli.clients.old_servers import Old, old_server


class Found(Struct, frozen=True):
    """An entry that starts an old server."""

    place: Place
    path: tuple[str, ...]
    """Where the entry is in the file."""

    was: list[str]
    old: Old
    is_nested: bool
    """An old entry of Zed, whose command is an object."""

    @property
    def name(self) -> str:
        return self.path[-1]

    @property
    def project(self) -> str | None:
        """The project of an entry that Claude Code keeps for one project in the user's file."""
        return self.path[1] if self.path[0] == "projects" else None


def old_entries(place: Place, values: Mapping[str, object], is_our_wrapper: Callable[[str], bool]) -> Iterator[Found]:
    """The old servers of a file, in its order. `is_our_wrapper` recognises our own program `codex-mcp-server`."""
    for path in holders(place, values):
        servers = at(values, path)
        for name, entry in servers.items() if isinstance(servers, Mapping) else ():
            words = words_of(entry)
            if is_ours(entry) or not words:
                continue
            old = old_server(words, is_ours=is_our_wrapper(words[0]))
            if old is not None:
                nested = isinstance(at(entry, ("command",)), Mapping)
                yield Found(place, (*path, name), words, old, nested)


def holders(place: Place, values: Mapping[str, object]) -> Iterator[tuple[str, ...]]:
    """The objects of a file that hold servers."""
    yield place.path
    projects = values.get("projects")
    if place.client.has_local and isinstance(projects, Mapping):
        yield from (("projects", project, place.client.key) for project in projects)


def migrated(form: Format, data: bytes, found: Sequence[Found], program: Sequence[str]) -> bytes:
    """The file with these entries rewritten to start our program. Raises Unreadable or Uneditable."""
    for one in found:
        holder = (*one.path, "command") if one.is_nested else one.path
        data = with_entry(form, data, (*holder, "path" if one.is_nested else "command"), program[0])
        data = with_entry(form, data, (*holder, "args"), _args(one, program))
        if isinstance(at(read(form, data), (*holder, "env")), Mapping):
            for variable, value in one.old.environment.items():
                data = with_entry(form, data, (*holder, "env", variable), value)
        elif one.old.environment:
            data = with_entry(form, data, (*holder, "env"), one.old.environment)
    return data


def becomes(found: Found, program: Sequence[str]) -> list[str]:
    """The new command line."""
    return [program[0], *_args(found, program)]


def _args(found: Found, program: Sequence[str]) -> list[str]:
    return [*program[1:], *found.old.args]
