"""Pure. A unified diff as files and lines with their numbers; changed words are marked where a line has a near twin."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.base.printable import one_line, visible

MOST_LINES: Final = 3000
"""Of a page."""

MOST_CHANGED: Final = 400
"""Changed lines above which a file is folded."""

LONGEST_LINE: Final = 2000
LONGEST_MARKED: Final = 400
"""Characters of lines whose words are compared."""

MOST_PAIRS: Final = 40
"""Lines of one place that are compared with their twins."""

NEAR: Final = 0.4

HUNK: Final = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.*)")
WORDS: Final = re.compile(r"\w+|\s+|.")
GENERATED: Final = re.compile(
    r"(^|/)([\w.-]*\.lock|package-lock\.json|pnpm-lock\.yaml|go\.sum|[\w.-]*\.min\.(js|css)|[\w.-]+_pb2\.py)$"
)
BY_GIT: Final = re.compile(r"^(index [0-9a-f]{4,}\.\.|similarity index)", re.MULTILINE)

Part = tuple[str, bool]
"""Some text, and whether it is marked."""


class DiffLine(Struct, frozen=True, omit_defaults=True):
    kind: str
    """`add`, `del`, `same` or `hunk`."""
    parts: Sequence[Part]
    old: int | None = None
    new: int | None = None

    @property
    def text(self) -> str:
        return "".join(text for text, _ in self.parts)


class FileDiff(Struct, frozen=True, kw_only=True):
    path: str
    what: str = ""
    """`new`, `removed`, `moved from …`, `binary`; empty for a change."""
    added: int = 0
    removed: int = 0
    lines: Sequence[DiffLine] = ()
    is_folded: bool = False
    note: str = ""
    """Why lines are left out."""


def files_in(text: str, *, ignore_space: bool = False) -> list[FileDiff]:
    found: list[FileDiff] = []
    room = MOST_LINES
    for lines in _by_file(text):
        file = _file(lines, ignore_space=ignore_space)
        if len(file.lines) > room:
            file = replace(file, lines=file.lines[:room], note="This page shows no more lines.")
        room -= len(file.lines)
        found.append(file)
    return found


def is_by_git(text: str) -> bool:
    """Whether git has compared files; otherwise these are patches as they were applied."""
    return BY_GIT.search(text) is not None


def _by_file(text: str) -> Iterator[list[str]]:
    lines: list[str] = []
    for line in text.split("\n"):
        if line.startswith("diff --git ") and lines:
            yield lines
            lines = []
        if lines or line.startswith("diff --git "):
            lines.append(line)
    if lines:
        yield lines


def _file(lines: Sequence[str], *, ignore_space: bool) -> FileDiff:
    path, what, begin = lines[0].rpartition(" b/")[2], "", len(lines)
    for at, line in enumerate(lines):
        if line.startswith("@@"):
            begin = at
            break
        if line.startswith("new file"):
            what = "new"
        elif line.startswith("deleted file"):
            what = "removed"
        elif line.startswith("rename from "):
            what = f"moved from {line.removeprefix('rename from ')}"
        elif line.startswith(("Binary files", "GIT binary")):
            what = "binary"
    shown = list(_marked(_numbered(lines[begin:]), ignore_space=ignore_space))
    added, removed = (sum(line.kind == kind for line in shown) for kind in ("add", "del"))
    return FileDiff(
        path=one_line(path.strip('"')),
        what=one_line(what),
        added=added,
        removed=removed,
        lines=shown,
        is_folded=not shown or added + removed > MOST_CHANGED or GENERATED.search(path) is not None,
    )


def _numbered(lines: Iterable[str]) -> Iterator[DiffLine]:
    old = new = 1
    for line in lines:
        text = visible(line[1 : LONGEST_LINE + 1])
        if (found := HUNK.match(line)) is not None:
            old, new = int(found[1]), int(found[2])
            yield DiffLine("hunk", [(visible(found[3][:LONGEST_LINE]), False)])
        elif line.startswith("+"):
            yield DiffLine("add", [(text, False)], new=new)
            new += 1
        elif line.startswith("-"):
            yield DiffLine("del", [(text, False)], old=old)
            old += 1
        elif line.startswith(" "):
            yield DiffLine("same", [(text, False)], old, new)
            old, new = old + 1, new + 1
        elif line.startswith("\\"):
            yield DiffLine("hunk", [(visible(line[:100]), False)])


def _marked(lines: Iterable[DiffLine], *, ignore_space: bool) -> Iterator[DiffLine]:
    """The same lines; words that differ from those of the line that was there before are marked."""
    gone: list[DiffLine] = []
    came: list[DiffLine] = []
    for line in lines:
        if line.kind == "del" and not came:
            gone.append(line)
        elif line.kind == "add":
            came.append(line)
        else:
            yield from _pairs(gone, came, ignore_space=ignore_space)
            gone, came = ([line], []) if line.kind == "del" else ([], [])
            if line.kind != "del":
                yield line
    yield from _pairs(gone, came, ignore_space=ignore_space)


def _pairs(gone: Sequence[DiffLine], came: Sequence[DiffLine], *, ignore_space: bool) -> Iterator[DiffLine]:
    if ignore_space and len(gone) == len(came) and all(_bare(a) == _bare(b) for a, b in zip(gone, came, strict=True)):
        yield from (replace(new, kind="same", old=old.old) for old, new in zip(gone, came, strict=True))
        return
    olds, news = list(gone), list(came)
    for at in range(min(len(gone), len(came), MOST_PAIRS)):
        olds[at], news[at] = _twins(gone[at], came[at])
    yield from olds
    yield from news


def _bare(line: DiffLine) -> str:
    return "".join(line.text.split())


def _twins(gone: DiffLine, came: DiffLine) -> tuple[DiffLine, DiffLine]:
    if max(len(gone.text), len(came.text)) > LONGEST_MARKED:
        return gone, came
    old, new = WORDS.findall(gone.text), WORDS.findall(came.text)
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    if matcher.ratio() < NEAR:
        return gone, came
    codes = matcher.get_opcodes()
    return (
        replace(gone, parts=[("".join(old[a:b]), tag != "equal") for tag, a, b, _, _ in codes if b > a]),
        replace(came, parts=[("".join(new[c:d]), tag != "equal") for tag, _, _, c, d in codes if d > c]),
    )
