"""Pure. On which line of a TOML text each table and each key begins.

The TOML parser says what a file holds, not where. This one says where, and leaves it to the other to find mistakes: for
a text that is no TOML its answer means nothing.
"""

import functools
import re
from collections.abc import Mapping
from typing import TypeAlias

Key: TypeAlias = tuple[str, ...]

_PART = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
_KEY = rf"{_PART}(?:[ \t]*\.[ \t]*{_PART})*"


@functools.cache  # compiled when there is a file to read
def _statement() -> re.Pattern[str]:
    """A table's head, or a key and its equals sign."""
    return re.compile(rf"[ \t]*(?:\[\[?[ \t]*(?P<table>{_KEY})[ \t]*\]\]?|(?P<key>{_KEY})[ \t]*=)")


@functools.cache
def _token() -> re.Pattern[str]:
    """What may follow: strings of four kinds, comments, brackets, ends of lines, and everything else."""
    strings = r'"""(?:[^\\]|\\.)*?"{3,5}|' + r"'''.*?'{3,5}|" + r'"(?:[^"\\\n]|\\.)*"|' + r"'[^'\n]*'"
    return re.compile(rf"{strings}|#[^\n]*|[\[\]{{}}]|\n|[^\"'#\[\]{{}}\n]+|.", re.DOTALL)


def lines_of(text: str) -> dict[Key, int]:
    """The line, from 1, of each table and key that has a line of its own; keys of inline tables have none."""
    found: dict[Key, int] = {}
    table: Key = ()
    position, line = 0, 1
    while position < len(text):
        statement = _statement().match(text, position)
        if statement is not None:
            head = statement["table"]
            key = _parts(head) if head else (*table, *_parts(statement["key"]))
            table = key if head else table
            for length in range(1, len(key) + 1):
                found.setdefault(key[:length], line)
            position = statement.end()
        after = _end_of_statement(text, position)
        line += text.count("\n", position, after)
        position = after
    return found


def line_of(lines: Mapping[Key, int], key: Key) -> int:
    """The line of a key, or of the nearest thing around it that has one."""
    for length in range(len(key), 0, -1):
        if key[:length] in lines:
            return lines[key[:length]]
    return 1


def _end_of_statement(text: str, position: int) -> int:
    """Where the next line begins that is not inside of a string or a bracket."""
    depth = 0
    for token in _token().finditer(text, position):
        word = token.group()
        if word in "[{":
            depth += 1
        elif word in "]}":
            depth -= 1
        elif word == "\n" and depth <= 0:
            return token.end()
    return len(text)


def _parts(key: str) -> Key:
    return tuple(part.strip("\"'") for part in re.findall(_PART, key))
