"""Pure. Reads JSON with comments and trailing commas, with the place of every value, for editing without loss.

No maintained Python library edits such a file and keeps every other byte; `jsonc_edit.py` does it with these places.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Final, TypeAlias

from msgspec import Struct

from codex_mcp.cli.clients.config_text.unreadable import Unreadable

Value: TypeAlias = "str | int | float | bool | list[Value] | dict[str, Value] | None"


class JsonMember(Struct, frozen=True):
    """A member of an object: where its key begins, and its value."""

    key: str
    start: int
    node: JsonNode
    comma: int | None = None
    """Where the comma after it stands; None if there is none."""


class JsonNode(Struct, frozen=True):
    """A value and where it stands; `members` are those of an object."""

    start: int
    end: int
    value: Value
    members: tuple[JsonMember, ...] | None = None


BLOCK_COMMENT: Final = r"/\*[^*]*\*+(?:[^/*][^*]*\*+)*/"

_SPACE: Final = re.compile(rf"(?:[ \t\r\n]|//[^\n]*(?:\n|\Z)|{BLOCK_COMMENT})*")
"""What may stand between two tokens. There is one way to read it, so nothing is tried twice. (Possessive repetition of
groups is broken in Python 3.11.2, which Debian 12 has.)"""

_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORDS: Final = {"true": True, "false": False, "null": None}

MAX_DEPTH: Final = 100
"""Configuration files are never nested this deep, and Python's stack ends at about a thousand calls."""


def is_blank(text: str) -> bool:
    """Whether a text holds nothing but white space and comments."""
    return _SPACE.fullmatch(text) is not None


def parse(text: str) -> JsonNode:
    """The value of a text. Raises Unreadable, with the place."""
    node = _value(text, _space(text, 0), 0)
    after = _space(text, node.end)
    if after < len(text):
        raise Unreadable(text, after, "the end of the file was expected")
    return node


def _space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None  # it matches the empty text
    if text.startswith("/*", found.end()):
        raise Unreadable(text, found.end(), "this comment does not end")
    return found.end()


def _value(text: str, at: int, depth: int) -> JsonNode:
    if depth > MAX_DEPTH:
        raise Unreadable(text, at, f"values are nested more than {MAX_DEPTH} deep")
    char = text[at : at + 1]
    if char == "{":
        return _object(text, at, depth)
    if char == "[":
        return _array(text, at, depth)
    if char == '"':
        string, end = _string(text, at)
        return JsonNode(at, end, string)
    if number := _NUMBER.match(text, at):
        return JsonNode(at, number.end(), _number(number.group()))
    for word, value in _WORDS.items():
        if text.startswith(word, at):
            return JsonNode(at, at + len(word), value)
    raise Unreadable(text, at, "a value was expected")


def _number(text: str) -> int | float:
    # Python refuses to convert an integer of more than 4,300 digits; as a number of JavaScript it is infinite anyway.
    return int(text) if text.lstrip("-").isdigit() and len(text) < 400 else float(text)


def _string(text: str, at: int) -> tuple[str, int]:
    found = _STRING.match(text, at)
    if found is None:
        raise Unreadable(text, at, "this string does not end on its line, or has an escape that JSON does not know")
    decoded = json.loads(found.group())
    assert isinstance(decoded, str)
    return decoded, found.end()


def _object(text: str, start: int, depth: int) -> JsonNode:
    members: list[JsonMember] = []

    def member(at: int) -> JsonMember:
        if text[at : at + 1] != '"':
            raise Unreadable(text, at, 'a name in "quotes" or } was expected')
        key, end = _string(text, at)
        colon = _space(text, end)
        if text[colon : colon + 1] != ":":
            raise Unreadable(text, colon, "a colon was expected")
        return JsonMember(key, at, _value(text, _space(text, colon + 1), depth + 1))

    def one(at: int) -> int:
        members.append(member(at))
        return members[-1].node.end

    def comma(at: int) -> None:
        last = members[-1]
        members[-1] = JsonMember(last.key, last.start, last.node, at)

    end = _items(text, start, "}", one, comma)
    return JsonNode(start, end, {item.key: item.node.value for item in members}, tuple(members))


def _array(text: str, start: int, depth: int) -> JsonNode:
    values: list[Value] = []

    def one(at: int) -> int:
        node = _value(text, at, depth + 1)
        values.append(node.value)
        return node.end

    end = _items(text, start, "]", one, lambda _: None)
    return JsonNode(start, end, values)


def _items(text: str, start: int, closing: str, one: Callable[[int], int], comma: Callable[[int], None]) -> int:
    """Read items separated by commas, perhaps with one after the last; return the end."""
    at = _space(text, start + 1)
    while text[at : at + 1] != closing:
        at = _space(text, one(at))
        if text[at : at + 1] == ",":
            comma(at)
            at = _space(text, at + 1)
        elif text[at : at + 1] != closing:
            raise Unreadable(text, at, f"a comma or {closing} was expected")
    return at + 1
