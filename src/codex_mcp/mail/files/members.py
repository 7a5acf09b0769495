"""Pure. One JSON object as text: a member is set or removed, and every other character stays."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from codex_mcp.mail.files.json_text import after_blank, value_at

KeyPath = tuple[str, ...]

NOTHING: Final = "{}"


class _Member(Struct, frozen=True):
    key: str
    start: int
    """Where the key begins."""
    value: object
    value_start: int
    end: int


def with_member(source: str, path: KeyPath, value: str) -> str:
    """The object with this member set to a JSON text. Objects on the way that are missing are created.

    Something else than an object on the way is replaced: the caller owns this path.
    """
    name, rest = path[0], path[1:]
    members = _members(source)
    found = _last(members, name)
    if found is None:
        return _inserted(source, members, name, with_member(NOTHING, rest, value) if rest else value)
    inner = source[found.value_start : found.end]
    if rest:
        value = with_member(inner if isinstance(found.value, dict) else NOTHING, rest, value)
    return source[: found.value_start] + value + source[found.end :]


def member_source(source: str, name: str) -> str | None:
    """The text of a member's value."""
    found = _last(_members(source), name)
    return None if found is None else source[found.value_start : found.end]


def without_member(source: str, path: KeyPath) -> str:
    """The object without this member; the same text if it has none."""
    members = _members(source)
    found = _last(members, path[0])
    if found is None:
        return source
    if path[1:]:
        if not isinstance(found.value, dict):
            return source
        inner = without_member(source[found.value_start : found.end], path[1:])
        return source[: found.value_start] + inner + source[found.end :]
    place = members.index(found)
    if place:
        cut = source[: members[place - 1].end] + source[found.end :]
    elif len(members) > 1:
        cut = source[: found.start] + source[members[1].start :]
    else:
        cut = NOTHING
    return without_member(cut, path)  # a repeated key


def _inserted(source: str, members: list[_Member], name: str, value: str) -> str:
    if not members:
        return f'{{"{name}": {value}}}'
    begin, last = members[0].start, members[-1].end
    blank = source[source.index("{") + 1 : begin]  # laid out like the members before it
    return f'{source[:last]},{blank or " "}"{name}": {value}{source[last:]}'


def _last(members: list[_Member], name: str) -> _Member | None:
    """Of a repeated key, readers take the last."""
    return next((member for member in reversed(members) if member.key == name), None)


def _members(source: str) -> list[_Member]:
    """The members of a text that was parsed before as an object."""
    found: list[_Member] = []
    at = after_blank(source, source.index("{") + 1)
    while source[at] != "}":
        start = at
        key, at = value_at(source, start)
        value_start = after_blank(source, source.index(":", at) + 1)
        value, end = value_at(source, value_start)
        found.append(_Member(str(key), start, value, value_start, end))
        at = after_blank(source, end)
        if source[at] == ",":
            at = after_blank(source, at + 1)
    return found
