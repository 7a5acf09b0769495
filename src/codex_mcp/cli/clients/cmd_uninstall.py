"""`codex-mcp uninstall CLIENT`: remove our server from the configuration of a client."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping
from typing import Final

from codex_mcp.base.errors import Refused
from codex_mcp.cli.clients import own_commands
from codex_mcp.cli.clients.backups import Backups, Original
from codex_mcp.cli.clients.cmd_install import add_place_arguments, check_target
from codex_mcp.cli.clients.config_files import check_writable, remove_config, target_of, write_config
from codex_mcp.cli.clients.config_text.documents import are_same, read
from codex_mcp.cli.clients.config_text.values import at, without
from codex_mcp.cli.clients.editing import Edit, apply_by, current, diff, first_original, removing
from codex_mcp.cli.clients.entries import checked_name, words_of
from codex_mcp.cli.clients.known import CLIENTS, place
from codex_mcp.cli.clients.recognition.servers import Ours
from codex_mcp.cli.clients.surroundings import folders_here, own_command, short, started_by
from codex_mcp.cli.output import NOT_FOUND, print_text

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
    here = place(CLIENTS[arguments.client], arguments.scope, where)
    name = checked_name(arguments.name)
    target = target_of(here, where)
    before, values = current(here)
    now = at(values, (*here.path, name))
    file = short(here.file, where.home)
    if before is None or now is None:
        print_text(f"{here.title} has no server {name}: {file} is unchanged.")
        return NOT_FOUND
    edit = removing(here, target, name, before)
    backups = Backups(where)
    original = _exact(edit, values, backups)
    if original is None and not isinstance(started_by(words_of(now), environment), Ours) and not arguments.force:
        raise Refused(f"cannot remove {name} from {file}: it does not start codex-mcp; --force removes it anyway")
    own = None if original else own_command(own_commands.removing(here, name), here.file, environment)
    if arguments.dry_run:
        if own is not None:
            print_text(f"Would run {shlex.join(own)}")
        print_text(diff(file, before, original.data if original else edit.after))
        return 0
    check_writable(here.file, target)
    if original is not None:
        _restore(target, original, backups)
    else:
        apply_by(own, edit, environment, cwd)
    print_text(f"Removed the server {name} from {here.title}: {file}{' is what it was before' if original else ''}")
    if original is None:
        backups.forget_absent(here.file)
    for backup in backups.of(here.file):
        print_text(f"An older copy of it is left in {short(backup, where.home)}")
    return 0


def _restore(target: str, original: Original, backups: Backups) -> None:
    if original.data is None:
        remove_config(target)
    else:
        write_config(target, original.data)
    backups.forget(original.backup)


def _exact(edit: Edit, values: Mapping[str, object], backups: Backups) -> Original | None:
    """The file before our entry was added, if nothing else was changed since."""
    original = first_original(edit, backups)
    if original is None or not are_same(read(edit.place.client.form, original.data), without(values, edit.path)):
        return None
    return original
