"""`codex-mcp install CLIENT`: add our server to the configuration of a client."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from codex_mcp.base.errors import Refused
from codex_mcp.cli.clients import own_commands
from codex_mcp.cli.clients.backups import ABSENT, Backups
from codex_mcp.cli.clients.config_files import check_writable, target_of
from codex_mcp.cli.clients.config_text.values import at
from codex_mcp.cli.clients.editing import apply_by, current, diff, setting
from codex_mcp.cli.clients.entries import checked_name, words_of
from codex_mcp.cli.clients.known import CLIENTS, Scope, entry, entry_of_url, place
from codex_mcp.cli.clients.recognition.servers import Ours
from codex_mcp.cli.clients.surroundings import folders_here, our_program, own_command, short, started_by
from codex_mcp.cli.output import print_text

DESCRIPTION: Final = (
    "Add codex-mcp to the servers of an MCP client, with its own command or in its configuration file; or, with "
    "--service, run it in the background (Linux with systemd)."
)


def add_place_arguments(parser: argparse.ArgumentParser) -> None:
    names = ", ".join(f"{client.name} ({client.title})" for client in CLIENTS.values())
    parser.add_argument("client", metavar="CLIENT", nargs="?", choices=[*CLIENTS], help=f"one of: {names}")
    parser.add_argument(
        "--scope",
        choices=[*Scope],
        default=Scope.USER,
        type=Scope,
        metavar="user|project|local",
        help="user: in all your projects; project: for everyone who works in this folder; "
        "local (only claude): for you, in this folder (default: user)",
    )
    parser.add_argument("--name", default="codex", help="the server's name in the client (default: codex)")
    parser.add_argument("--dry-run", action="store_true", help="show the change, and change nothing")


def configure(parser: argparse.ArgumentParser) -> None:
    add_place_arguments(parser)
    parser.add_argument("--http", metavar="URL", help="connect to a running server at this address")
    parser.add_argument("--team", action="store_true", help="start `serve`, with a team of named agents")
    parser.add_argument("--force", action="store_true", help="replace a server of this name that is not codex-mcp")
    parser.add_argument(
        "--service",
        nargs=argparse.REMAINDER,
        metavar="FLAG",
        help="instead of CLIENT: run `codex-mcp serve` with these flags in the background, as a systemd user service; "
        "must be the last flag",
    )


def check_target(arguments: argparse.Namespace) -> None:
    """Raises Refused unless the words name a client or the service."""
    is_service = arguments.service not in (None, False)
    if is_service == (arguments.client is not None):
        raise Refused(f"cannot tell what to change: give either a client ({', '.join(CLIENTS)}) or --service")


def run(arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str) -> int:
    check_target(arguments)
    if arguments.service is not None:
        from codex_mcp.cli.clients import service  # noqa: PLC0415  loads the server, which takes long

        return service.install(arguments.service, environment, cwd, dry_run=arguments.dry_run)
    where = folders_here(environment, cwd)
    here = place(CLIENTS[arguments.client], arguments.scope, where)
    name = checked_name(arguments.name)
    wanted = _entry(arguments)
    target = target_of(here, where)
    before, values = current(here)
    now = at(values, (*here.path, name))
    file = short(here.file, where.home)
    if now == wanted:
        print_text(f"{here.title} already has the server {name}: {file} is unchanged.")
        return 0
    if now is not None and not isinstance(started_by(words_of(now), environment), Ours) and not arguments.force:
        raise Refused(
            f"cannot add {name} to {file}: it has another server of this name; choose another --name, replace it with "
            "--force, or, if it starts an old Codex server, run codex-mcp migrate"
        )
    edit = setting(here, target, name, before, wanted)
    # Some clients refuse to replace an entry with their own command.
    own = own_command(own_commands.adding(here, name, wanted), here.file, environment) if now is None else None
    if arguments.dry_run:
        if own is not None:
            print_text(f"Would run {shlex.join(own)}")
        print_text(diff(file, before, edit.after))
        return 0
    check_writable(here.file, target)
    backup = apply_by(own, edit, environment, cwd, Backups(where))
    done = f"Added the server {name} to" if now is None else f"Changed the server {name} of"
    print_text(f"{done} {here.title}: {file}")
    if not backup.endswith(ABSENT):
        print_text(f"The file as it was before: {short(backup, where.home)}")
    print_text(here.client.next_step)
    return 0


def _entry(arguments: argparse.Namespace) -> dict[str, object]:
    client = CLIENTS[arguments.client]
    if arguments.http is None:
        return entry(client, [*our_program(), "serve" if arguments.team else "mcp-server"])
    if arguments.team:
        raise Refused(
            "cannot use --team with --http: the server at that address decides; start it with codex-mcp serve"
        )
    address = urlsplit(arguments.http)
    if address.scheme not in ("http", "https") or not address.netloc:
        raise Refused(f"cannot use --http {arguments.http}: it must be an address such as http://127.0.0.1:3333/mcp")
    return entry_of_url(client, arguments.http)
