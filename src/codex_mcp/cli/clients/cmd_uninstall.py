"""`codex-mcp uninstall CLIENT`: remove our server from the configuration of a client."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Mapping
from typing import Final

from msgspec import structs

from codex_mcp.base.errors import Refused
from codex_mcp.cli.clients.cmd_install import add_place_arguments, check_target
from codex_mcp.cli.clients.config_files import check_writable, remove_config, target_of, write_config
from codex_mcp.cli.clients.config_text.documents import are_same, read
from codex_mcp.cli.clients.config_text.values import at, with_value, without
from codex_mcp.cli.clients.editing import Edit, apply, chosen, current, diff, first_original, removing, setting
from codex_mcp.cli.clients.entries import checked_name
from codex_mcp.cli.clients.installing import Spot
from codex_mcp.cli.clients.known import CLIENTS, Folders, places_of
from codex_mcp.cli.clients.own_folder.backups import Backups, Original
from codex_mcp.cli.clients.own_folder.lock import one_at_a_time
from codex_mcp.cli.clients.own_folder.records import Records
from codex_mcp.cli.clients.surroundings import folders_here, short
from codex_mcp.cli.output import NOT_FOUND, print_text
from codex_mcp.cli.sentences import say

DESCRIPTION: Final = (
    "Remove codex-mcp from the servers of an MCP client. If nothing else has changed its configuration file since "
    "`install`, the file becomes exactly what it was."
)


def configure(parser: argparse.ArgumentParser) -> None:
    add_place_arguments(parser)
    parser.add_argument("--force", action="store_true", help="remove a server of this name that is not codex-mcp")
    parser.add_argument("--service", action="store_true", help="instead of CLIENT: stop and remove the systemd service")


def run(arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str) -> int:
    check_target(arguments)
    if arguments.service:
        from codex_mcp.cli.clients import service  # noqa: PLC0415  loads the server, which takes long

        return service.uninstall(environment, cwd, dry_run=arguments.dry_run)
    where = folders_here(environment, cwd)
    name = checked_name(arguments.name)
    here = chosen(places_of(CLIENTS[arguments.client], arguments.scope, where), name)
    with contextlib.nullcontext() if arguments.dry_run else one_at_a_time(where):
        before, values = current(here)
        path = (*here.path, name)
        record = Records(where).of(here.file, path)
        target = here.file if arguments.dry_run else target_of(here, where)
        spot = Spot(here, target, name, before, at(values, path), record)
        file = short(here.file, where.home)
        if before is None or spot.now is None:
            say(f"{here.title} has no server {name}: {file} is unchanged.")
            return NOT_FOUND
        return _remove(spot, before, arguments, where, environment)


def _remove(
    spot: Spot,
    before: bytes,
    arguments: argparse.Namespace,
    where: Folders,
    environment: Mapping[str, str],
) -> int:
    here, name, file = spot.place, spot.name, short(spot.place.file, where.home)
    replaced, backups = spot.record.replaced, Backups(where)
    edit = removing(here, spot.target, name, before)
    if replaced is not None:
        edit = setting(here, spot.target, name, before, replaced)
    edit = structs.replace(edit, replaced=replaced)
    original = _exact(edit, read(here.client.form, before), backups)
    if original is None and not spot.is_ours(environment) and not arguments.force:
        raise Refused(f"cannot remove {name} from {file}: it does not start codex-mcp; --force removes it anyway")
    if arguments.dry_run:
        print_text(diff(file, before, original.data if original else edit.after))
        return 0
    check_writable(here.file, spot.target)
    if original is not None:
        _restore(spot.target, original, backups, where)
    else:
        apply(edit)
        backups.forget_absent(here.file)
    Records(where).forget(here.file, spot.path)
    say(f"Removed the server {name} from {here.title}: {file}{' is what it was before' if original else ''}")
    if replaced is not None:
        say(f"The server {name} that was there before codex-mcp is back.")
    for backup in backups.of(here.file):
        say(f"An older copy of it is left in {short(backup, where.home)}")
    return 0


def _restore(target: str, original: Original, backups: Backups, where: Folders) -> None:
    if original.data is None:
        remove_config(target, where)
    else:
        write_config(target, original.data)
    backups.forget(original.backup)


def _exact(edit: Edit, values: Mapping[str, object], backups: Backups) -> Original | None:
    """The file before our entry was added, if nothing else was changed since."""
    original = first_original(edit, backups)
    if original is None:
        return None
    rest = without(values, edit.path) if edit.replaced is None else with_value(values, edit.path, edit.replaced)
    return original if are_same(read(edit.place.client.form, original.data), rest) else None
