"""Pure. Finds the statements of a TOML text and their places, for editing without loss.

tomlkit keeps the text of a document, but it counts the comments between two tables to the first one, so that removing
our table would also remove the comment above the user's next table. `toml_edit.py` therefore edits with these places.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Final, TypeAlias

from msgspec import Struct

from codex_mcp.cli.clients.config_text.unreadable import Unreadable

Key: TypeAlias = tuple[str, ...]

_PART: Final = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
_KEY: Final = rf"{_PART}(?:[ \t]*\.[ \t]*{_PART})*"
_HEADER: Final = re.compile(rf"[ \t]*(?P<open>\[\[?)[ \t]*(?P<key>{_KEY})[ \t]*\]\]?")
_ASSIGNMENT: Final = re.compile(rf"[ \t]*(?P<key>{_KEY})[ \t]*=[ \t]*")
_STRINGS: Final = r'"""(?:[^\\]|\\.)*?"{3,5}|' + r"'''.*?'{3,5}|" + r'"(?:[^"\\\n]|\\.)*"|' + r"'[^'\n]*'"
_TOKEN: Final = re.compile(rf"(?P<text>{_STRINGS})|(?P<comment>#[^\n]*)|[\[\]{{}}]|[ \t\r]+|\n|.", re.DOTALL)
_PLACE: Final = re.compile(r" \(at line (\d+), column (\d+)\)$")


class Statement(Struct, frozen=True):
    """A table's header, or an assignment; `start` and `end` are those of its lines."""

    start: int
    end: int
    path: Key
    """The whole path: that of the table and that of the key."""

    section: Key
    """The table in which it stands; of a header, its own path."""

    value: tuple[int, int] | None = None
    """Where the value of an assignment stands; None for a header."""


def parse(text: str) -> dict[str, object]:
    """The values of a text. Raises Unreadable, with the place."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = _PLACE.search(str(error))
        why = _PLACE.sub("", str(error))
        if place is None:
            raise Unreadable(text, len(text), why) from error
        line_start = sum(len(line) for line in text.splitlines(keepends=True)[: int(place[1]) - 1])
        raise Unreadable(text, line_start + int(place[2]) - 1, why) from error
    except RecursionError as error:
        raise Unreadable(text, 0, "the file is nested too deeply") from error


def statements(text: str) -> Iterator[Statement]:
    """The statements of a text that `parse` accepts, in order."""
    section: Key = ()
    at = 0
    while at < len(text):
        if header := _HEADER.match(text, at):
            path = _path(header["key"])
            # An element of an array of tables has a path of its own, which nothing else matches.
            section = path if header["open"] == "[" else ("[[", *path)
            _, end = _value_end(text, header.end())
            yield Statement(at, end, section, section)
        elif assignment := _ASSIGNMENT.match(text, at):
            value_end, end = _value_end(text, assignment.end())
            path = (*section, *_path(assignment["key"]))
            yield Statement(at, end, path, section, (assignment.end(), value_end))
        else:
            _, end = _value_end(text, at)
        at = end


def members(text: str, start: int) -> list[Statement]:
    """The members of the inline table that begins here; `start` and `end` are those of the member itself."""
    found: list[Statement] = []
    at = start + 1
    while assignment := _ASSIGNMENT.match(text, at):
        begin = assignment.start("key")
        end = _member_end(text, assignment.end())
        found.append(Statement(begin, end, _path(assignment["key"]), (), (assignment.end(), end)))
        comma = end + len(text[end:]) - len(text[end:].lstrip(" \t"))
        if text[comma : comma + 1] != ",":
            break
        at = comma + 1
    return found


def _member_end(text: str, at: int) -> int:
    """The end of the value of a member."""
    depth = 0
    value_end = at
    for token in _TOKEN.finditer(text, at):
        word = token.group()
        if token["text"] is None and depth == 0 and word in ",}":
            return value_end
        if token["text"] is None and word in "[]{}":
            depth += 1 if word in "[{" else -1
        if token["comment"] is None and not word.isspace():
            value_end = token.end()
    return value_end


def _path(key: str) -> Key:
    """The parts of a key, as the parser reads them."""
    path: list[str] = []
    value: object = tomllib.loads(f"{key} = 0")
    while isinstance(value, dict):
        ((part, value),) = value.items()
        path.append(part)
    return tuple(path)


def _value_end(text: str, at: int) -> tuple[int, int]:
    """The end of the value that begins here, and the start of the next line that is not inside it."""
    depth = 0
    value_end = at
    for token in _TOKEN.finditer(text, at):
        word = token.group()
        if word == "\n" and depth <= 0:
            return value_end, token.end()
        if token["text"] is None and word in "[]{}":
            depth += 1 if word in "[{" else -1
        if token["comment"] is None and not word.isspace():
            value_end = token.end()
    return value_end, len(text)
