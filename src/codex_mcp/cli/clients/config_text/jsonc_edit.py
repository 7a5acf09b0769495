"""Pure. Sets and removes one value of a JSON text with comments; every other character stays as it is.

A new member follows the layout of the file: its indentation, its line ends, one line or many, a comma after the last
member or none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.cli.clients.config_text.jsonc import BLOCK_COMMENT, JsonMember, JsonNode, Value, is_blank, parse
from codex_mcp.cli.clients.config_text.unreadable import Unreadable

_SAME_LINE: Final = re.compile(rf"(?:[ \t]|{BLOCK_COMMENT})*(?://[^\r\n]*)?")
"""What may follow a value on its line: comments belong to that line."""


class _Layout(Struct, frozen=True):
    """How a file is written."""

    newline: str
    unit: str
    """One level of indentation."""

    is_one_line: bool
    colon: str = ": "
    comma: str = ", "


def set_value(text: str, path: Sequence[str], value: Value) -> str:
    """The text with this value at this path; missing objects on the way are added. Raises Unreadable."""
    if is_blank(text):
        newline = _newline(text)
        kept = text if not text or text.endswith("\n") else text + newline
        return kept + _shown(_nested(path, value), _Layout(newline, "  ", is_one_line=False), "") + newline
    root = parse(text)
    layout = _layout_of(text, root)
    node = root
    for depth, key in enumerate(path):
        members = _members(text, node, path[:depth])
        found = _member(text, members, key)
        if found is None:
            return _added(text, node, key, _nested(path[depth + 1 :], value), layout)
        node = found.node
    if "\n" not in text[node.start : node.end]:
        layout = replace(layout, is_one_line=True)
    return text[: node.start] + _shown(value, layout, _indent_at(text, node.start)) + text[node.end :]


def remove(text: str, path: Sequence[str]) -> str:
    """The text without the member at this path. Raises Unreadable; KeyError if there is no such member."""
    node = parse(text)
    for depth, key in enumerate(path):
        members = _members(text, node, path[:depth])
        found = _member(text, members, key)
        if found is None:
            raise KeyError(key)
        outer, node = node, found.node
    return _without(text, outer, members.index(found))


def _nested(path: Sequence[str], value: Value) -> Value:
    for key in reversed(path):
        value = {key: value}
    return value


def _members(text: str, node: JsonNode, path: Sequence[str]) -> tuple[JsonMember, ...]:
    if node.members is None:
        what = f"the value of {'.'.join(path)}" if path else "the file"
        raise Unreadable(text, node.start, f"{what} must be an object, {{…}}")
    return node.members


def _member(text: str, members: Sequence[JsonMember], key: str) -> JsonMember | None:
    found = [member for member in members if member.key == key]
    if len(found) > 1:
        raise Unreadable(text, found[1].start, f'"{key}" is there twice')
    return found[0] if found else None


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _layout_of(text: str, root: JsonNode) -> _Layout:
    inner = [_indent_at(text, member.start) for member in root.members or ()]
    unit = next(filter(None, inner), "  ")
    is_one_line = "\n" not in text[root.start : root.end] and bool(root.members)
    if is_one_line and not re.search(r'":\s', text):
        return _Layout(_newline(text), unit, is_one_line, ":", ",")
    return _Layout(_newline(text), unit, is_one_line)


def _indent_at(text: str, at: int) -> str:
    """The white space at the beginning of this line."""
    start = text.rfind("\n", 0, at) + 1
    return text[start : len(text) - len(text[start:].lstrip(" \t"))]


def _shown(value: Value, layout: _Layout, indent: str) -> str:
    if layout.is_one_line:
        return json.dumps(value, ensure_ascii=False, separators=(layout.comma, layout.colon))
    lines = json.dumps(value, indent=layout.unit, ensure_ascii=False).split("\n")
    return f"{layout.newline}{indent}".join(lines)


def _added(text: str, node: JsonNode, key: str, value: Value, layout: _Layout) -> str:
    """The text with a new last member of this object."""
    assert node.members is not None
    if layout.is_one_line:
        return _added_in_line(text, node, f"{json.dumps(key)}{layout.colon}{_shown(value, layout, '')}", layout)
    if not node.members:
        return _added_to_empty(text, node, key, value, layout)
    last = node.members[-1]
    indent = _indent_at(text, last.start)
    if text[: last.start].rpartition("\n")[2].strip(" \t"):  # it begins behind something else on its line
        indent = _indent_at(text, node.start) + layout.unit
    added = f"{layout.newline}{indent}{json.dumps(key)}: {_shown(value, layout, indent)}"
    end = last.node.end if last.comma is None else last.comma + 1
    comma_now, comma_later = (",", "") if last.comma is None else ("", ",")
    line = _SAME_LINE.match(text, end)
    assert line is not None
    at = line.end()
    if text[at : at + 1] not in ("\r", "\n"):  # the closing brace, or a comment of several lines before it
        at = end
        added += comma_later + (
            f"{layout.newline}{_indent_at(text, node.start)}" if "\n" not in text[end : node.end] else ""
        )
        return text[:end] + comma_now + added + text[end:]
    return text[:end] + comma_now + text[end:at] + added + comma_later + text[at:]


def _added_to_empty(text: str, node: JsonNode, key: str, value: Value, layout: _Layout) -> str:
    outer = _indent_at(text, node.start)
    indent = outer + layout.unit
    inside = text[node.start + 1 : node.end - 1]
    kept = inside.rstrip(" \t\r\n")
    added = f"{kept}{layout.newline}{indent}{json.dumps(key)}: {_shown(value, layout, indent)}"
    left = inside[len(kept) :] if kept else ""
    rest = left if "\n" in left else f"{layout.newline}{outer}"
    return text[: node.start + 1] + added + rest + text[node.end - 1 :]


def _added_in_line(text: str, node: JsonNode, added: str, layout: _Layout) -> str:
    assert node.members is not None
    if not node.members:
        at = node.end - 1
        return text[:at].rstrip(" \t") + added + text[at:]
    last = node.members[-1]
    end = last.node.end if last.comma is None else last.comma + 1
    return text[:end] + (layout.comma if last.comma is None else layout.comma[1:]) + added + text[end:]


def _without(text: str, outer: JsonNode, number: int) -> str:
    """The text without one of the members of this object, its comma, and its line if nothing else is on it."""
    members = outer.members or ()
    member = members[number]
    start, end = member.start, (member.node.end if member.comma is None else member.comma + 1)
    if not (text[outer.start + 1 : start] + text[end : outer.end - 1]).strip():  # it was all that the object had
        return text[: outer.start + 1] + text[outer.end - 1 :]
    is_last = number + 1 == len(members)
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", end) + 1
    if line_end and not (text[line_start:start] + text[end:line_end]).strip():
        start, end = line_start, line_end
    elif not is_last and "\n" not in text[end : members[number + 1].start]:
        end += len(text[end:]) - len(text[end:].lstrip(" \t"))
    elif number > 0 and "\n" not in text[members[number - 1].node.end : start]:
        start = len(text[:start].rstrip(" \t"))
    before = members[number - 1].comma if number > 0 and is_last and member.comma is None else None
    kept = text[:start] if before is None else text[:before] + text[before + 1 : start]
    return kept + text[end:]
