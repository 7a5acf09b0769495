"""Changes the entry of a client, in its configuration file, and shows the change."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence

from msgspec import Struct

from codex_mcp.base.errors import Explained
from codex_mcp.base.printable import visible
from codex_mcp.base.secrets.redact import redact
from codex_mcp.cli.clients.config_files import read_config, write_config
from codex_mcp.cli.clients.config_text.documents import Uneditable, read, with_entry, without_entry
from codex_mcp.cli.clients.config_text.unreadable import Unreadable
from codex_mcp.cli.clients.config_text.values import at
from codex_mcp.cli.clients.known import Place, Scope
from codex_mcp.cli.clients.own_folder.backups import Backups, Original


class Edit(Struct, frozen=True):
    """A change of one entry of a file: what the file is, and what it becomes."""

    place: Place
    name: str
    wanted: object
    """The entry; None to remove it."""

    before: bytes | None
    after: bytes
    target: str
    """The file that is written, without symbolic links."""
    replaced: object = None
    """The entry of another program that ours has replaced."""

    @property
    def path(self) -> tuple[str, ...]:
        return (*self.place.path, self.name)


def current(place: Place) -> tuple[bytes | None, Mapping[str, object]]:
    """The file of a place: its bytes and its values. Raises Explained."""
    data = read_config(place.file)
    try:
        return data, read(place.client.form, data)
    except Unreadable as error:
        raise unusable(place, error) from error


def chosen(candidates: Sequence[Place], name: str) -> Place:
    """Of the files that a client reads alike, the one with this server, else one that exists. Raises Explained."""
    if len(candidates) == 1:
        return candidates[0]
    files = [(here, *current(here)) for here in candidates]
    having = [here for here, _, values in files if at(values, (*here.path, name)) is not None]
    existing = [here for here, data, _ in files if data is not None]
    return [*having, *existing, *candidates][0]


def unusable(place: Place, error: Unreadable | Uneditable) -> Explained:
    if isinstance(error, Uneditable):
        return Explained(f"cannot change {place.file}: {error}; edit it yourself")
    read_as = f"it cannot be read as {place.client.form}"
    return Explained(f"cannot change {place.file}: {read_as}: {error}; fix the file and try again")


def setting(place: Place, target: str, name: str, before: bytes | None, entry: object) -> Edit:
    """The edit that sets this entry. Raises Explained."""
    try:
        after = with_entry(place.client.form, before, (*place.path, name), entry)
    except (Unreadable, Uneditable) as error:
        raise unusable(place, error) from error
    return Edit(place, name, entry, before, after, target)


def removing(place: Place, target: str, name: str, before: bytes) -> Edit:
    """The edit that removes this entry. Raises Explained."""
    try:
        after = without_entry(place.client.form, before, (*place.path, name))
    except (Unreadable, Uneditable) as error:
        raise unusable(place, error) from error
    return Edit(place, name, None, before, after, target)


def apply(edit: Edit, backups: Backups | None = None) -> str:
    """Write the file; return its backup, if one is wanted. Raises Explained."""
    if read_config(edit.target) != edit.before:
        raise Explained(f"cannot change {edit.place.file}: another program has just changed it; try again")
    backup = ""
    if backups is not None:
        first = first_original(edit, backups)
        backup = backups.save(edit.place.file, first.data if first else edit.before, edit.after)
        if first and first.backup != backup:
            backups.forget(first.backup)
    if edit.after != edit.before:
        write_config(edit.target, edit.after, is_shared=edit.place.scope is Scope.PROJECT)
    return backup


def first_original(edit: Edit, backups: Backups) -> Original | None:
    """What the file was before our entry was first added, if that is known."""
    known = None if edit.before is None else backups.original_of(edit.place.file, edit.before)
    if known is not None and at(read(edit.place.client.form, known.data), edit.path) == edit.replaced:
        return known
    return None


def diff(file: str, before: bytes | None, after: bytes | None) -> str:
    """The change as a unified diff, with secrets masked."""
    old = _lines(before)
    new = _lines(after)
    names = (file if before is not None else "/dev/null", file if after is not None else "/dev/null")
    lines = [line.rstrip("\r\n") for line in difflib.unified_diff(old, new, *names)]
    return redact(visible("\n".join(lines)))


def _lines(data: bytes | None) -> list[str]:
    return (data or b"").decode(errors="replace").splitlines(keepends=True)
