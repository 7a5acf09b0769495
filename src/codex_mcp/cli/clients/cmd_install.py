"""`codex-mcp install CLIENT`: add our server to the configuration of a client."""

from __future__ import annotations

import argparse
import contextlib
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import urlsplit

from codex_mcp.base.errors import Explained, Refused
from codex_mcp.base.printable import foreign
from codex_mcp.cli.clients.config_files import check_writable, target_of
from codex_mcp.cli.clients.config_text.values import at
from codex_mcp.cli.clients.editing import apply, chosen, current, diff
from codex_mcp.cli.clients.entries import checked_name
from codex_mcp.cli.clients.everywhere.entry import Entry
from codex_mcp.cli.clients.everywhere.reading import read_clients
from codex_mcp.cli.clients.http_access import reached
from codex_mcp.cli.clients.installing import Spot, planned
from codex_mcp.cli.clients.known import CLIENTS, Client, Folders, Place, Scope, places_of
from codex_mcp.cli.clients.migration import old_entries
from codex_mcp.cli.clients.own_entry import Program, Wanted, entry_of_url
from codex_mcp.cli.clients.own_folder.backups import ABSENT, Backups
from codex_mcp.cli.clients.own_folder.lock import one_at_a_time
from codex_mcp.cli.clients.own_folder.records import Records
from codex_mcp.cli.clients.recognition.servers import Ours
from codex_mcp.cli.clients.surroundings import (
    client_named,
    folders_here,
    is_our_wrapper,
    our_program,
    short,
    started_by,
)
from codex_mcp.cli.clients.warnings import about, is_here
from codex_mcp.cli.output import agreed, print_text
from codex_mcp.cli.sentences import complain, say

LEFT: Final = 1
"""The exit code if `--all` could not add it to every client."""

DESCRIPTION: Final = (
    "Add codex-mcp to the servers of an MCP client, in its configuration file; or, with --service, run it in the "
    "background (Linux with systemd)."
)


def add_place_arguments(parser: argparse.ArgumentParser) -> None:
    names = ", ".join(f"{client.name} ({client.title})" for client in CLIENTS.values())
    parser.add_argument(
        "client", metavar="CLIENT", nargs="?", type=client_named, choices=[*CLIENTS], help=f"one of: {names}"
    )
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
    parser.add_argument(
        "--command",
        metavar="WORDS",
        help="what starts codex-mcp, such as codex-mcp or 'uvx codex-mcp' (default: the absolute path of this program)",
    )
    parser.add_argument("--http", metavar="URL", help="connect to a running server at this address")
    token = parser.add_mutually_exclusive_group()
    token.add_argument("--token-file", metavar="FILE", help="with --http: the file that holds the server's token")
    token.add_argument("--token-env", metavar="NAME", help="with --http: the variable from which the client takes it")
    parser.add_argument(
        "--team",
        action=argparse.BooleanOptionalAction,
        help="start `serve`, with a team of named agents, or `mcp-server` (default: as it is, at first `mcp-server`)",
    )
    parser.add_argument("--list", action="store_true", help="list the clients that have codex-mcp; does it start?")
    parser.add_argument("--all", action="store_true", help="add it to every client of this machine; asks once")
    parser.add_argument("--yes", action="store_true", help="with --all: do not ask")
    parser.add_argument("--json", action="store_true", help="with --list: print JSON")
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
    where = folders_here(environment, cwd)
    if arguments.list or arguments.all:
        if arguments.client is not None or arguments.service is not None or (arguments.list and arguments.all):
            raise Refused("--list and --all go with neither a client nor --service nor each other")
        return _list(arguments, where, environment) if arguments.list else _add_all(arguments, where, environment)
    check_target(arguments)
    if arguments.service is not None:
        from codex_mcp.cli.clients import service  # noqa: PLC0415  loads the server, which takes long

        return service.install(arguments.service, environment, cwd, dry_run=arguments.dry_run)
    install(CLIENTS[arguments.client], arguments, where, environment)
    return 0


def _list(arguments: argparse.Namespace, where: Folders, environment: Mapping[str, str]) -> int:
    from codex_mcp.cli.clients.everywhere import listing  # noqa: PLC0415  loads a client, which takes long

    return listing.show(where, environment, as_json=arguments.json)


def _add_all(arguments: argparse.Namespace, where: Folders, environment: Mapping[str, str]) -> int:
    """Add it to each client of this machine that does not have it, after one question."""
    entries = [each for each in read_clients(where, environment) if isinstance(each, Entry)]
    ours = [each for each in entries if _is_ours(each)]
    have = {each.client for each in ours if each.scope == arguments.scope or each.is_of_plugin}
    able = [each for each in CLIENTS.values() if arguments.scope in each.scopes() and is_here(each, where, environment)]
    found = [client for client in able if client.title not in have]
    if not able:
        say("No client that codex-mcp knows seems to be here: codex-mcp install CLIENT adds it to one all the same.")
        return 0
    if not found:
        say("Every client that is here has codex-mcp: codex-mcp install --list shows them.")
        return 0
    say(f"These clients are here and do not have codex-mcp yet: {', '.join(each.title for each in found)}.")
    if not (arguments.dry_run or arguments.yes or agreed("Add it to them?")):
        return LEFT
    code = 0
    for client in found:
        try:
            install(client, arguments, where, environment)
        except Explained as error:
            complain("install", f"{client.title}: {error}")
            code = LEFT
    return code


def install(client: Client, arguments: argparse.Namespace, where: Folders, environment: Mapping[str, str]) -> None:
    """Add or change the server of this client. Raises Explained."""
    name = checked_name(arguments.name)
    here = chosen(places_of(client, arguments.scope, where), name)
    wanted = _wanted(arguments, here, where, environment)
    with contextlib.nullcontext() if arguments.dry_run else one_at_a_time(where):
        target = here.file if arguments.dry_run else target_of(here, where)
        before, values = current(here)
        now = at(values, (*here.path, name))
        spot = Spot(here, target, name, before, now, Records(where).of(here.file, (*here.path, name)))
        file = short(here.file, where.home)
        plan = planned(spot, wanted, environment, force=arguments.force, shown=file)
        if plan.edit.after == before:
            say(f"{here.title} already has the server {name}: {file} is unchanged.")
            return
        if arguments.dry_run:
            print_text(diff(file, before, plan.edit.after))
            return
        check_writable(here.file, target)
        warnings = [*about(here, wanted, where, environment), *_plugin_beside(here, where, environment)]
        backup = apply(plan.edit, Backups(where))
        Records(where).remember(plan.record)
    say(plan.told)
    if now is not None:
        print_text(diff(file, before, plan.edit.after))
    if not backup.endswith(ABSENT):
        say(f"The file as it was before: {short(backup, where.home)}")
    for warning in warnings:
        complain("install", warning)
    _say_what_is_left(here, environment)
    say(here.client.next_step)


def _plugin_beside(here: Place, where: Folders, environment: Mapping[str, str]) -> Iterator[str]:
    """A warning, if a plugin of this client brings our server as well."""
    for each in read_clients(where, environment):
        if isinstance(each, Entry) and each.is_of_plugin and each.client == here.client.title and _is_ours(each):
            yield f"a plugin brings this server as {each.name}: {each.client} would see every tool twice; remove one"


def _is_ours(entry: Entry) -> bool:
    return isinstance(entry.starts, Ours)


def _say_what_is_left(here: Place, environment: Mapping[str, str]) -> None:
    """Name the old servers that the client still has."""
    left = old_entries(here, current(here)[1], lambda word: is_our_wrapper(word, environment))
    for name in sorted({each.name for each in left}):
        say(f"The server {name} of {here.client.title} starts an old Codex server: codex-mcp migrate changes it.")


def _words(command: str | None, environment: Mapping[str, str]) -> Sequence[str]:
    """What starts our program in the client. Raises Refused."""
    if command is None:
        return our_program()
    try:
        words = shlex.split(command)
    except ValueError as exc:
        raise Refused(f"cannot use --command {foreign(command)}: {exc}") from exc
    if not words or not isinstance(started_by([*words, "mcp-server"], environment), Ours):
        raise Refused(f"cannot use --command {foreign(command)}: it does not start codex-mcp")
    return words


def _wanted(arguments: argparse.Namespace, here: Place, where: Folders, environment: Mapping[str, str]) -> Wanted:
    if arguments.http is None:
        if arguments.token_file is not None or arguments.token_env is not None:
            raise Refused("cannot use a token without --http: a server that the client starts needs none")
        return Program(_words(arguments.command, environment), arguments.team, is_named=arguments.command is not None)
    if arguments.command is not None:
        raise Refused("cannot use --command with --http: the client starts no server then")
    if arguments.team:
        raise Refused(
            "cannot use --team with --http: the server at that address decides; start it with codex-mcp serve"
        )
    address = urlsplit(arguments.http)
    if address.scheme not in ("http", "https") or not address.netloc:
        raise Refused(f"cannot use --http {arguments.http}: it must be an address such as http://127.0.0.1:3333/mcp")
    entry_of_url(here.client, arguments.http)  # refuses a client that takes none
    return reached(arguments, here, where, environment)
