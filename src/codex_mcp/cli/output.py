"""What commands print: tables for people, JSON for programs. Nothing here colours anything."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Final

import msgspec

from codex_mcp.cli.tables import table

SCHEMA: Final = 1
"""Of the JSON that commands print. It grows when something is renamed or taken away, not when something is added."""

NOT_FOUND: Final = 3
"""The exit code when what was asked for is not there; 1 is a failure, 2 a wrong way to ask."""


def print_text(text: str) -> None:
    """A text, at once: what is not heard is known here, and not when the program ends."""
    print(text, flush=True)


def print_json(value: object) -> None:
    """One JSON document, indented: programs do not mind, and people can read it."""
    print_text(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def print_table(titles: Sequence[str], rows: Sequence[Sequence[str]], *, whole: int = 0) -> None:
    """A table that fits the terminal, but for the first `whole` columns; into a pipe, with nothing cut."""
    print_text(table(titles, rows, terminal_width(), whole=whole))


def terminal_width() -> int | None:
    """How wide our output may be; None is without limit."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or None
    except OSError:
        return None
