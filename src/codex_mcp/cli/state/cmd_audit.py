"""`codex-mcp audit`: what the agents did, and the results."""

from __future__ import annotations

import argparse
import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import BinaryIO, Final

from codex_mcp.base.files import is_named, opened
from codex_mcp.cli.output import SCHEMA, print_json, print_json_line, print_table, print_text, terminal_width
from codex_mcp.cli.parser import whole_number
from codex_mcp.cli.state.folder import add_state_argument, readable, state_folder
from codex_mcp.cli.tables import table
from codex_mcp.team.records import audit
from codex_mcp.team.records.audit import read_audit
from codex_mcp.team.records.audit_entry import AuditEntry, entry_in

DESCRIPTION: Final = "Show what the agents of the state folder did, the latest last."

SHOWN: Final = 20
"""They fit on a screen."""

LOOK_EVERY: Final = 0.3
"""Seconds between two reads: immediate for a person, and no load for the machine."""


TITLES: Final = ("TIME                    ", "OUTCOME    ", "EVENT       ", "IDENTITY", "TOOK  ", "WHAT  ")
"""As wide as most entries need, so that lines printed one by one are aligned."""

OPTIONAL: Final = ("TOOK  ", "IDENTITY")
"""Columns that a narrow screen leaves out, the least important first."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--identity", metavar="NAME", help="only entries of agents with this name")
    parser.add_argument("--codex-id", metavar="ID", help="only entries of this agent")
    parser.add_argument(
        "--limit", metavar="N", type=whole_number, default=SHOWN, help=f"how many entries (default: {SHOWN})"
    )
    parser.add_argument("--follow", action="store_true", help="keep printing new entries; with --json, one per line")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_state_argument(parser)


def run(arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str) -> int:
    folder = state_folder(arguments, environment, cwd)
    with readable(folder):
        follower = LineFollower(os.path.join(folder, audit.FILE))
    with contextlib.closing(follower):
        # Read after the follower has its position: no entry is missed, and none in between is printed twice.
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


def _follow(follower: LineFollower, entries: Sequence[AuditEntry], arguments: argparse.Namespace) -> None:
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


def row(entry: AuditEntry) -> tuple[str, ...]:
    """The cells of an entry, one for each of TITLES."""
    return (
        entry.timestamp,
        entry.outcome,
        entry.event,
        entry.identity or "",
        "" if entry.duration_ms is None else duration(entry.duration_ms),
        " · ".join(text for text in (entry.error, entry.what) if text),
    )


def duration(milliseconds: int) -> str:
    if milliseconds < 1000:
        return f"{milliseconds} ms"
    if milliseconds < 60_000:
        return f"{milliseconds / 1000:.1f} s"
    return f"{milliseconds // 60_000} min"


class LineFollower:
    """Lines appended to a file from now on, even if the file is rotated. `close()` it."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file = self._opened()
        self._unfinished = b""
        if self._file is not None:
            self._file.seek(0, os.SEEK_END)

    def lines(self, pause: Callable[[], None]) -> Iterator[bytes]:
        """Whole lines, endlessly; `pause` is called when there is nothing to read."""
        while True:
            found = self._read()
            yield from found
            if not found:
                pause()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _read(self) -> list[bytes]:
        was_rotated = self._file is None or not is_named(self._file.fileno(), self._path)
        # Checked before reading, so that everything written before the rotation is read now.
        data = b"" if self._file is None else self._file.read()
        if was_rotated:
            self.close()
            self._file = self._opened()
        *whole, self._unfinished = (self._unfinished + data).split(b"\n")
        return whole

    def _opened(self) -> BinaryIO | None:
        try:
            return opened(self._path)
        except FileNotFoundError:
            return None
