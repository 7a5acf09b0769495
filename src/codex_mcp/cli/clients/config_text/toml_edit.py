"""Pure. Sets and removes one value of a TOML text; every other character stays as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final

from codex_mcp.cli.clients.config_text.toml_text import Key, Statement, members, statements
from codex_mcp.cli.clients.config_text.unreadable import Unreadable

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")


def set_value(text: str, path: Sequence[str], value: object) -> str:
    """The text with this value at this path. Raises Unreadable."""
    target = tuple(path)
    found = list(statements(text))
    for statement in found:
        if statement.value and target[: len(statement.path)] == statement.path:
            return _set_inside(text, statement.value, target[len(statement.path) :], value)
    if any(statement.path[: len(target)] == target for statement in found):
        text = remove(text, target)
        found = list(statements(text))
    if isinstance(value, Mapping) and len(target) == 2:
        return _with_table(text, target, value)
    return _with_line(text, found, target, value)


def remove(text: str, path: Sequence[str]) -> str:
    """The text without this table or key. Raises Unreadable; KeyError if there is none."""
    target = tuple(path)
    found = list(statements(text))
    for statement in found:
        if statement.value and target[: len(statement.path)] == statement.path != target:
            return _remove_inside(text, statement.value, target[len(statement.path) :])
    numbers = [number for number, statement in enumerate(found) if statement.path[: len(target)] == target]
    if not numbers:
        raise KeyError(".".join(target))
    for first, last in reversed(_runs(numbers)):
        text = _cut(text, found[first].start, found[last].end)
    return text


def _set_inside(text: str, span: tuple[int, int], path: Key, value: object) -> str:
    """The text with a value at this path inside the value at this place, which is an inline table."""
    start, end = span
    if not path:
        return text[:start] + _shown(value) + text[end:]
    if text[start] != "{":
        raise Unreadable(text, start, "a table was expected")
    found = members(text, start)
    for member in found:
        if member.value and path[: len(member.path)] == member.path:
            return _set_inside(text, member.value, path[len(member.path) :], value)
    at = found[-1].end if found else start + 1
    return f"{text[:at]}{',' if found else ''} {_dotted(path)} = {_shown(value)}{'' if found else ' '}{text[at:]}"


def _remove_inside(text: str, span: tuple[int, int], path: Key) -> str:
    found = members(text, span[0]) if text[span[0]] == "{" else []
    for number, member in enumerate(found):
        if member.value and path[: len(member.path)] == member.path:
            if path != member.path:
                return _remove_inside(text, member.value, path[len(member.path) :])
            if number + 1 < len(found):
                return text[: member.start] + text[found[number + 1].start :]
            return text[: found[number - 1].end if number else member.start] + text[member.end :]
    raise KeyError(".".join(path))


def _with_table(text: str, path: Key, table: Mapping[str, object]) -> str:
    """A new table at the end of the text, after an empty line."""
    newline = _newline(text)
    lines = [f"[{_dotted(path)}]", *(f"{_dotted((key,))} = {_shown(value)}" for key, value in table.items())]
    gap = "" if not text else newline if text.endswith("\n") else newline * 2
    return text + gap + newline.join(lines) + newline


def _with_line(text: str, found: Sequence[Statement], path: Key, value: object) -> str:
    """A new key in an existing table, after the table's last line."""
    table = path[:-1]
    near = [statement for statement in found if statement.path[: len(table)] == table]
    own = [statement for statement in near if statement.section == table]
    if not near:
        raise Unreadable(text, len(text), f"the table {_dotted(table)} was not found")
    last = (own or near)[-1]
    line = text[last.start : last.end]
    indent = line[: len(line) - len(line.lstrip(" \t"))]
    key = path[len(last.section) :] if path[: len(last.section)] == last.section else path
    newline = _newline(text)
    before = "" if line.endswith("\n") else newline
    return f"{text[: last.end]}{before}{indent}{_dotted(key)} = {_shown(value)}{newline}{text[last.end :]}"


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _dotted(path: Key) -> str:
    return ".".join(part if _BARE.fullmatch(part) else _shown(part) for part in path)


def _shown(value: object) -> str:
    """A value on one line."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case list() | tuple():
            return f"[{', '.join(map(_shown, value))}]"
        case Mapping():
            inside = ", ".join(f"{_dotted((key,))} = {_shown(inner)}" for key, inner in value.items())
            return f"{{ {inside} }}" if inside else "{}"
    return str(value)  # numbers, dates and times


def _runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """The first and the last of each run of consecutive numbers."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs


def _cut(text: str, start: int, end: int) -> str:
    """The text without these lines, and without one of the two empty lines that would now follow each other."""
    before, after = text[:start], text[end:]
    for newline in ("\r\n", "\n"):
        if before.endswith(newline * 2) and (not after or after.startswith(newline)):
            return before[: -len(newline)] + after
    return before + after
