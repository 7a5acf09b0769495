"""Changes the entry of a client, with the client's own command or by editing its file, and shows the change."""

from __future__ import annotations

import difflib
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.base.errors import Explained
from codex_mcp.base.printable import visible
from codex_mcp.base.secrets.redact import redact
from codex_mcp.cli.clients.config_files import read_config, write_config
from codex_mcp.cli.clients.config_text.documents import Uneditable, are_same, read, with_entry, without_entry
from codex_mcp.cli.clients.config_text.unreadable import Unreadable
from codex_mcp.cli.clients.config_text.values import at, without
from codex_mcp.cli.clients.known import Place, Scope
from codex_mcp.cli.clients.own_folder.backups import Backups, Original
from codex_mcp.cli.clients.surroundings import on_path
from codex_mcp.cli.output import print_text

COMMAND_PATIENCE: Final = 60.0
"""Seconds for a client's own command, which takes less than one; npm's wrappers on a cold disk take longer."""


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


def apply_by(
    own: Sequence[str] | None, edit: Edit, environment: Mapping[str, str], cwd: str, backups: Backups | None = None
) -> str:
    """Make this change with the client's own command, if there is one, else ourselves; see `apply`."""
    if own is None:
        return apply(edit, backups)
    print_text(f"Running {shlex.join(own[:3])} …")
    return apply_with(own, edit, environment, cwd, backups)


def apply(edit: Edit, backups: Backups | None = None) -> str:
    """Write the file; return its backup, if one is wanted. Raises Explained."""
    if read_config(edit.target) != edit.before:
        raise Explained(f"cannot change {edit.place.file}: another program has just changed it; try again")
    return _write(edit, edit.before, backups)


def apply_with(
    command: Sequence[str], edit: Edit, environment: Mapping[str, str], cwd: str, backups: Backups | None = None
) -> str:
    """Let the client's own command make this change, and complete it; return the backup as `apply`. Raises Explained.

    If the command changed nothing else, or failed, the file gets exactly the bytes of our edit, so that its layout and
    its comments stay.
    """
    _run(command, environment, cwd)
    form = edit.place.client.form
    now, values = current(edit.place)
    if not are_same(without(values, edit.path), without(read(form, edit.before), edit.path)):
        edit = replace(edit, after=_completed(edit, now or b"", values))
    return _write(edit, now, backups)


def _completed(edit: Edit, now: bytes, values: Mapping[str, object]) -> bytes:
    if at(values, edit.path) == edit.wanted:
        return now
    if edit.wanted is None:
        return removing(edit.place, edit.target, edit.name, now).after
    return setting(edit.place, edit.target, edit.name, now, edit.wanted).after


def _write(edit: Edit, now: bytes | None, backups: Backups | None) -> str:
    backup = ""
    if backups is not None:
        first = first_original(edit, backups)
        backup = backups.save(edit.place.file, first.data if first else edit.before, edit.after)
        if first and first.backup != backup:
            backups.forget(first.backup)
    if edit.after != now:
        write_config(edit.target, edit.after, is_shared=edit.place.scope is Scope.PROJECT)
    return backup


def first_original(edit: Edit, backups: Backups) -> Original | None:
    """What the file was before our entry was first added, if that is known."""
    known = None if edit.before is None else backups.original_of(edit.place.file, edit.before)
    if known is not None and at(read(edit.place.client.form, known.data), edit.path) == edit.replaced:
        return known
    return None


def _run(command: Sequence[str], environment: Mapping[str, str], cwd: str) -> None:
    """Run a client's own command. A failure is told on stderr."""
    program = on_path(command[0], environment)
    assert program is not None  # the caller has looked
    shown = " ".join(command[:3])
    try:
        ended = subprocess.run(
            [program, *command[1:]],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=COMMAND_PATIENCE,
            check=False,
            env=dict(environment),
            cwd=cwd,
        )
    except (OSError, subprocess.TimeoutExpired) as exc:
        print(f"codex-mcp: `{shown}` failed ({exc}); editing the file instead", file=sys.stderr)
        return
    if ended.returncode:
        said = redact(visible((ended.stderr or ended.stdout).decode(errors="replace").strip())) or "it said nothing"
        print(f"codex-mcp: `{shown}` failed ({said}); editing the file instead", file=sys.stderr)


def diff(file: str, before: bytes | None, after: bytes | None) -> str:
    """The change as a unified diff, with secrets masked."""
    old = _lines(before)
    new = _lines(after)
    names = (file if before is not None else "/dev/null", file if after is not None else "/dev/null")
    lines = [line.rstrip("\r\n") for line in difflib.unified_diff(old, new, *names)]
    return redact(visible("\n".join(lines)))


def _lines(data: bytes | None) -> list[str]:
    return (data or b"").decode(errors="replace").splitlines(keepends=True)
