"""Pure. The changes of a patch as lines with their numbers; none is left out, since it is what a person approves."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from codex_mcp.base.printable import one_line, visible

HUNK: Final = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.*)")

TITLES: Final = {"add": "new file", "delete": "removed", "update": ""}


class Line(Struct, frozen=True):
    kind: str
    """`add`, `del`, `same`, or `hunk`: where the following lines stand."""
    text: str
    old: int | None = None
    new: int | None = None


class File(Struct, frozen=True):
    path: str
    what: str
    """`new file`, `removed`, `moved to …`; empty for a change."""
    lines: Sequence[Line]

    @property
    def added(self) -> int:
        return sum(line.kind == "add" for line in self.lines)

    @property
    def removed(self) -> int:
        return sum(line.kind == "del" for line in self.lines)


class _Change(Struct, frozen=True):
    type: str = ""
    unified_diff: str = ""
    content: str = ""
    move_path: str | None = None


def files_of(changes: object) -> list[File]:
    """The files of a patch, in the shape of 0.153.4."""
    return [_file(str(path), change) for path, change in changes.items()] if isinstance(changes, Mapping) else []


def _file(path: str, change: object) -> File:
    try:
        found = msgspec.convert(change, _Change)
    except msgspec.ValidationError:
        return File(one_line(path), "cannot be shown", [])
    what = TITLES.get(found.type, found.type)
    if found.move_path:
        what = f"moved to {found.move_path}"
    if found.unified_diff:
        return File(one_line(path), one_line(what), list(_diff_lines(found.unified_diff)))
    kind = "del" if found.type == "delete" else "add"
    lines = found.content.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return File(one_line(path), one_line(what), [_numbered(kind, text, n) for n, text in enumerate(lines, 1)])


def _numbered(kind: str, text: str, number: int) -> Line:
    if kind == "del":
        return Line(kind, visible(text), old=number)
    return Line(kind, visible(text), new=number)


def _diff_lines(diff: str) -> Iterator[Line]:
    old = new = 1
    lines = diff.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    for line in lines:
        if found := HUNK.fullmatch(line):
            old, new = int(found[1]), int(found[2])
            yield Line("hunk", visible(found[3]))
            continue
        sign, text = line[:1], visible(line[1:])
        match sign:
            case "+":
                yield Line("add", text, new=new)
                new += 1
            case "-":
                yield Line("del", text, old=old)
                old += 1
            case " ":
                yield Line("same", text, old=old, new=new)
                old, new = old + 1, new + 1
            case _:
                yield Line("hunk", visible(line))
