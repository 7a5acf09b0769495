"""`codex-mcp audit`: what the agents did, and what came of it."""

from __future__ import annotations

import argparse
import contextlib
import os
import time
from collections.abc import Mapping, Sequence
from typing import Final

from codex_mcp.cli.output import SCHEMA, print_json, print_json_line, print_table, print_text, terminal_width
from codex_mcp.cli.state.audit_follow import Follower
from codex_mcp.cli.state.audit_rows import OPTIONAL, TITLES, row
from codex_mcp.cli.state.folder import add_state_argument, readable, state_folder
from codex_mcp.cli.tables import table
from codex_mcp.team.records import audit
from codex_mcp.team.records.audit import read_audit
from codex_mcp.team.records.audit_entry import AuditEntry, entry_in

DESCRIPTION: Final = "Show what the agents of the state folder did, the latest last."

SHOWN: Final = 20
"""A screen has room for them."""

LOOK_EVERY: Final = 0.3
"""Seconds between two looks: at once for a person, and nothing for the machine."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's flags."""
    parser.add_argument("--identity", metavar="NAME", help="only what agents of this name did")
    parser.add_argument("--codex-id", metavar="ID", help="only what this agent did")
    parser.add_argument("--limit", metavar="N", type=_count, default=SHOWN, help=f"how many entries ({SHOWN})")
    parser.add_argument("--follow", action="store_true", help="and go on with those to come; with --json, one a line")
    parser.add_argument("--json", action="store_true", help="for programs")
    add_state_argument(parser)


def run(arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str) -> int:
    """Print the entries."""
    folder = state_folder(arguments, environment, cwd)
    with readable(folder):
        follower = Follower(os.path.join(folder, audit.FILE))
    with contextlib.closing(follower):
        # Read after the follower knows where it begins: nothing is missed, and what came in between is told once.
        with readable(folder):
            entries = read_audit(
                folder, identity=arguments.identity, codex_id=arguments.codex_id, limit=arguments.limit
            )
        if not arguments.follow:
            _print(entries, as_json=arguments.json)
            return 0
        with contextlib.suppress(KeyboardInterrupt):
            _follow(follower, entries, arguments)
    return 0


def _print(entries: Sequence[AuditEntry], *, as_json: bool) -> None:
    if as_json:
        print_json({"schema": SCHEMA, "entries": entries})
    else:
        print_table(TITLES, [row(entry) for entry in entries], whole=1, optional=OPTIONAL)


def _follow(follower: Follower, entries: Sequence[AuditEntry], arguments: argparse.Namespace) -> None:
    if arguments.json:
        for old in entries:
            print_json_line(old)
    else:
        _print(entries, as_json=False)
    told = list(entries)
    for line in follower.lines(lambda: time.sleep(LOOK_EVERY)):
        entry = entry_in(line)
        if entry is None or not _is_wanted(entry, arguments):
            continue
        if entry in told:
            told.remove(entry)
        elif arguments.json:
            print_json_line(entry)
        else:
            shown = table(TITLES, [row(entry)], terminal_width(), whole=1, optional=OPTIONAL)
            print_text(shown.partition("\n")[2])


def _is_wanted(entry: AuditEntry, arguments: argparse.Namespace) -> bool:
    return arguments.identity in (None, entry.identity) and arguments.codex_id in (None, entry.codex_id)


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"cannot use {text!r}: it must be a whole number, such as 50")
    return int(text)
