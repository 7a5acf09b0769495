"""Pure. On which line of a TOML text each table and key begins, which the TOML parser does not tell.

For a text that is not valid TOML the result means nothing; the parser reports the errors.
"""

import functools
import re
from collections.abc import Mapping
from typing import TypeAlias

Key: TypeAlias = tuple[str, ...]

_PART = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
_KEY = rf"{_PART}(?:[ \t]*\.[ \t]*{_PART})*"


@functools.cache  # compiled only if there is a file to read
def _statement() -> re.Pattern[str]:
    return re.compile(rf"[ \t]*(?:\[\[?[ \t]*(?P<table>{_KEY})[ \t]*\]\]?|(?P<key>{_KEY})[ \t]*=)")


@functools.cache
def _token() -> re.Pattern[str]:
    strings = r'"""(?:[^\\]|\\.)*?"{3,5}|' + r"'''.*?'{3,5}|" + r'"(?:[^"\\\n]|\\.)*"|' + r"'[^'\n]*'"
    return re.compile(rf"{strings}|#[^\n]*|[\[\]{{}}]|\n|[^\"'#\[\]{{}}\n]+|.", re.DOTALL)


def lines_of(text: str) -> dict[Key, int]:
    """The line, from 1, of each table and key, except for keys of inline tables."""
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
    """The line of a key, or of the innermost table around it that has one."""
    for length in range(len(key), 0, -1):
        if key[:length] in lines:
            return lines[key[:length]]
    return 1


def _end_of_statement(text: str, position: int) -> int:
    """The start of the next line that is not inside a string or bracket."""
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
