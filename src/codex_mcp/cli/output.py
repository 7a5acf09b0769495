"""What commands print: text and tables for people, JSON for programs; never colours."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from codex_mcp.base.errors import Explained
from codex_mcp.base.printable import json_escaped
from codex_mcp.cli.tables import table

SCHEMA: Final = 1
"""Version of the printed JSON. It changes when something is renamed or removed, not when something is added."""

NOT_FOUND: Final = 3
"""The exit code if the requested thing does not exist; 1 is a failure, 2 a wrong flag or setting."""


class Unwritten(Explained):
    """The output cannot be written."""


def print_text(text: str) -> None:
    """Print a text; characters that the terminal's encoding lacks are escaped."""
    _print(text.encode(sys.stdout.encoding, "backslashreplace"))


def print_json(value: object) -> None:
    """Print one JSON document, indented for people."""
    _print(_harmless(msgspec.json.format(msgspec.json.encode(value), indent=2)))


def print_json_line(value: object) -> None:
    _print(_harmless(msgspec.json.encode(value)))


def _harmless(document: bytes) -> bytes:
    """The document with every character escaped that a terminal would interpret or hide."""
    if document.isascii() and b"\x7f" not in document:  # JSON escapes the other control characters of ASCII itself
        return document
    return json_escaped(document.decode()).encode()


def _print(line: bytes) -> None:
    """Print and flush, so that a failure is noticed here and not at exit. JSON is always UTF-8."""
    with failures_explained():
        sys.stdout.flush()
        sys.stdout.buffer.write(line + b"\n")
        sys.stdout.buffer.flush()


@contextlib.contextmanager
def failures_explained() -> Iterator[None]:
    """Raise Unwritten if output cannot be written, and drop the rest of the output."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as exc:
        # Otherwise Python would try to write it again at exit, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise Unwritten(f"cannot write the output: {exc.strerror}; check where it goes") from exc


def print_table(
    titles: Sequence[str], rows: Sequence[Sequence[str]], *, whole: int = 0, optional: Sequence[str] = ()
) -> None:
    """Print a table that fits the terminal (see `table`); into a pipe, uncut."""
    print_text(table(titles, rows, terminal_width(), whole=whole, optional=optional))


def terminal_width() -> int | None:
    """The width of the terminal; None if the output does not go to one."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or None
    except OSError:
        return None


def agreed(question: str) -> bool:
    """Ask a person; without one, the answer is no."""
    if not sys.stdin.isatty() or terminal_width() is None:
        print_text("Nothing was changed; --yes changes it.")
        return False
    try:
        answer = input(f"{question} [y/N] ")
    except (EOFError, KeyboardInterrupt):
        print_text("")
        return False
    return answer.strip().lower() in ("y", "yes")
