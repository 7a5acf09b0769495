"""What commands print: tables for people, JSON for programs. Nothing here colours anything."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Final

import msgspec

from codex_mcp.base.errors import Explained
from codex_mcp.cli.tables import table

SCHEMA: Final = 1
"""Of the JSON that commands print. It grows when something is renamed or taken away, not when something is added."""

NOT_FOUND: Final = 3
"""The exit code when what was asked for is not there; 1 is a failure, 2 a wrong way to ask."""


class Unwritten(Explained):
    """Where our output goes, it cannot be written."""


def print_text(text: str) -> None:
    """A text; what the terminal has no letter for is written out."""
    _print(text.encode(sys.stdout.encoding, "backslashreplace"))


def print_json(value: object) -> None:
    """One JSON document, indented: programs do not mind, and people can read it."""
    _print(_harmless(msgspec.json.format(msgspec.json.encode(value), indent=2)))


def print_json_line(value: object) -> None:
    """One JSON document on a line of its own."""
    _print(_harmless(msgspec.json.encode(value)))


def _harmless(document: bytes) -> bytes:
    """The same document with every character escaped that a terminal would obey or hide."""
    if document.isascii() and b"\x7f" not in document:  # JSON escapes the other control characters of ASCII itself
        return document
    text = document.decode()
    return "".join(char if char.isprintable() or char == "\n" else _escaped(char) for char in text).encode()


def _escaped(char: str) -> str:
    units = char.encode("utf-16-be").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _print(line: bytes) -> None:
    """At once: what is not heard is known here, and not when the program ends. JSON is UTF-8 wherever it goes."""
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(line + b"\n")
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as exc:
        raise unwritten(exc) from exc


def unwritten(exc: OSError) -> Unwritten:
    """The error for output that could not be written; what is left of it is dropped."""
    # Python would try to write it once more when it ends, and complain.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return Unwritten(f"cannot write the output: {exc.strerror}; look at where it goes")


def print_table(
    titles: Sequence[str], rows: Sequence[Sequence[str]], *, whole: int = 0, optional: Sequence[str] = ()
) -> None:
    """A table that fits the terminal (see `table`); into a pipe, with nothing cut."""
    print_text(table(titles, rows, terminal_width(), whole=whole, optional=optional))


def terminal_width() -> int | None:
    """How wide our output may be; None is without limit."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or None
    except OSError:
        return None
