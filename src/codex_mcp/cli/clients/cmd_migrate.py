"""`codex-mcp migrate`: old Codex servers in the files of all clients, replaced by codex-mcp."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from codex_mcp.base.errors import Explained
from codex_mcp.base.printable import one_line
from codex_mcp.base.secrets.redact import redact
from codex_mcp.cli.clients.config_files import check_writable, read_config, target_of, write_config
from codex_mcp.cli.clients.config_text.documents import Uneditable
from codex_mcp.cli.clients.config_text.unreadable import Unreadable
from codex_mcp.cli.clients.editing import diff, unusable
from codex_mcp.cli.clients.known import Folders, Place, Scope
from codex_mcp.cli.clients.migration import Found, OldEntry, Stuck, becomes, migrated
from codex_mcp.cli.clients.own_folder.backups import Backups
from codex_mcp.cli.clients.own_folder.lock import one_at_a_time
from codex_mcp.cli.clients.scan import Scanned, files_with_old_servers
from codex_mcp.cli.clients.surroundings import folders_here, our_program, short
from codex_mcp.cli.output import SCHEMA, agreed, print_json, print_table, print_text, terminal_width
from codex_mcp.cli.sentences import complain, say
from codex_mcp.cli.tables import whole_width

DESCRIPTION: Final = (
    "Find entries that start `codex mcp-server`, the session wrapper codex-mcp-server or one of its relatives, in the "
    "files of all known MCP clients, yours and this project's, and let them start codex-mcp under the same name."
)

TITLES: Final = ("SERVER", "CLIENT", "STARTS", "WILL START", "FILE")
TO_DO: Final = 1
"""The exit code if something is left to do."""


class Change(Struct, frozen=True):
    """A file and what it becomes."""

    place: Place
    target: str
    before: bytes
    after: bytes
    found: list[Found]


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--dry-run", action="store_true", help="show the changes, and change nothing")
    parser.add_argument("--json", action="store_true", help="print JSON; changes nothing without --yes")


def run(arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str) -> int:
    where = folders_here(environment, cwd)
    program = our_program()
    problems: list[str] = []
    files = list(files_with_old_servers(where, environment, problems))
    stuck = [each for file in files for each in file.stuck]
    changes = list(_changes([file for file in files if file.found], where, program, problems))
    for problem in problems:
        complain("migrate", problem)
    if not arguments.json:
        _show(changes, stuck, where, is_all=not problems)
    if arguments.dry_run and not arguments.json:
        for change in changes:
            print_text("\n" + diff(short(change.place.file, where.home), change.before, change.after))
    is_wanted = (
        bool(changes) and not arguments.dry_run and (arguments.yes or (not arguments.json and agreed("Change them?")))
    )
    backups: dict[str, str] = {}
    if is_wanted:
        with one_at_a_time(where):
            backups = {change.place.file: _write(change, where) for change in changes}
    if arguments.json:
        print_json({"changed": is_wanted, **_document(changes, stuck, program), "problems": problems})
    else:
        _show_changed(changes, backups, where)
    left = (bool(changes) and not is_wanted) or bool(stuck)
    return TO_DO if (left and not arguments.dry_run) or problems else 0


def _changes(files: Sequence[Scanned], where: Folders, program: Sequence[str], problems: list[str]) -> Iterator[Change]:
    """What there is to do. Files that cannot be changed become problems."""
    for file in files:
        here = file.place
        try:
            target = target_of(here, where)
            check_writable(here.file, target)
            after = migrated(here.client.form, file.data, file.found, program)
            yield Change(here, target, file.data, after, file.found)
        except (Unreadable, Uneditable) as error:
            problems.append(str(unusable(here, error)))
        except Explained as error:
            problems.append(str(error))


def _show(changes: Sequence[Change], stuck: Sequence[Stuck], where: Folders, *, is_all: bool) -> None:
    """`is_all` says that every file could be read and changed."""
    if changes:
        _show_changes(changes, where)
    elif not stuck:
        say(
            "No client starts an old Codex server: nothing to do."
            if is_all
            else "The other files start no old Codex server."
        )
    for each in stuck:
        _, client, was, file = _row(each, where)
        say(
            f"{each.name} of {client}, {file}: it starts {each.old.kind} through {each.old.through}, which codex-mcp "
            f"cannot change; let it start `codex-mcp mcp-server` yourself\n  starts:      {one_line(was)}"
        )


def _show_changes(changes: Sequence[Change], where: Folders) -> None:
    rows = [_change_row(found, where) for change in changes for found in change.found]
    width = terminal_width()
    if width is None or whole_width(TITLES, rows) <= width:
        print_table(TITLES, rows)
    else:  # a person decides about these commands, and needs to see them whole
        print_text("\n".join(map(_block, rows)))
    for change in changes:
        for found in change.found:
            for note in found.old.notes:
                say(f"{found.name} of {change.place.title}: {note}")


def _show_changed(changes: Sequence[Change], backups: Mapping[str, str], where: Folders) -> None:
    for file, backup in backups.items():
        say(f"Changed {short(file, where.home)}; as it was before: {short(backup, where.home)}")
    for step in dict.fromkeys(change.place.client.next_step for change in changes if backups):
        say(step)


def _block(row: Sequence[str]) -> str:
    name, client, was, new, file = map(one_line, row)
    return f"{name} of {client}, {file}\n  starts:      {was}\n  will start:  {new}"


def _row(found: OldEntry, where: Folders) -> tuple[str, str, str, str]:
    inside = f" [{short(found.project, where.home)}]" if found.project else ""
    file = short(found.place.file, where.home) + inside
    return found.name, found.place.client.title, redact(shlex.join(found.was)), file


def _change_row(found: Found, where: Folders) -> tuple[str, ...]:
    name, client, was, file = _row(found, where)
    return name, client, was, redact(shlex.join(["codex-mcp", *found.old.args])), file


def _write(change: Change, where: Folders) -> str:
    file = change.place.file
    if read_config(change.target) != change.before:
        raise Explained(f"cannot change {short(file, where.home)}: another program has just changed it; try again")
    backup = Backups(where).save(file, change.before, change.after)
    write_config(change.target, change.after)
    return backup


def _document(changes: Sequence[Change], stuck: Sequence[Stuck], program: Sequence[str]) -> dict[str, object]:
    entries = [
        {
            **_described(found),
            "kind": found.old.kind,
            "becomes": [redact(word) for word in becomes(found, program)],
            "notes": list(found.old.notes),
        }
        for change in changes
        for found in change.found
    ]
    left = [{**_described(each), "kind": each.old.kind, "through": each.old.through} for each in stuck]
    return {"schema": SCHEMA, "entries": entries, "stuck": left}


def _described(found: OldEntry) -> dict[str, object]:
    return {
        "name": found.name,
        "client": found.place.client.name,
        "scope": Scope.LOCAL if found.project else found.place.scope,
        "project": found.project,
        "file": found.place.file,
        "was": [redact(word) for word in found.was],
    }
