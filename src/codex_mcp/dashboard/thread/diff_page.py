"""Pure. The page with what an agent has changed: three ranges, comments, and what a review has found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from codex_mcp.base.printable import one_line
from codex_mcp.dashboard.thread.comments import Comment
from codex_mcp.dashboard.thread.unified import FileDiff, files_in, is_by_git
from codex_mcp.dashboard.views.pages import SCHEMA
from codex_mcp.wire.control_thread import Finding

RANGES: Final[Mapping[str, str]] = {"turn": "This turn", "thread": "Whole thread", "uncommitted": "Uncommitted"}

GIT: Final[Mapping[str, str]] = {
    "turn": "Compared by git: the files that the last turn has changed, with what they were before it.",
    "thread": "Compared by git: the agent’s worktree, with the commit from which it began.",
    "uncommitted": "Compared by git: the folder, with its last commit. Others who work there may have changed it, too.",
}
PATCHES: Final[Mapping[str, str]] = {
    "turn": "The patches that Codex applied in the last turn. What its commands changed is not in them.",
    "thread": "The patches that Codex applied in this thread, in order. What its commands changed is not in them.",
}


class Placed(Struct, frozen=True):
    """A finding or a comment, and where it stands."""

    title: str
    text: str
    place: str
    file: str = ""
    line: int = 0
    is_in_diff: bool = False


class DiffPage(Struct, frozen=True, kw_only=True):
    schema: int = SCHEMA
    at: float
    sentence: str
    of: str
    ranges: Mapping[str, str]
    source: str
    """Where it comes from."""
    ignores_space: bool
    files: Sequence[FileDiff]
    said: str
    """In place of a diff: why there is none, or what is cut."""
    findings: Sequence[Placed]
    comments: Sequence[Placed]
    added: int
    removed: int

    def at_line(self, path: str, line: int | None) -> list[Placed]:
        """What stands below a line."""
        return [
            each
            for each in (*self.findings, *self.comments)
            if each.is_in_diff and (each.file, each.line) == (path, line)
        ]


class Asked(Struct, frozen=True):
    of: str
    ignores_space: bool
    now: float


def diff_page(asked: Asked, name: str, text: str, findings: Sequence[Finding], comments: Sequence[Comment]) -> DiffPage:
    diff, said = _split(text)
    files = files_in(diff, ignore_space=asked.ignores_space)
    source = (GIT if is_by_git(diff) else PATCHES).get(asked.of, "") if files else ""
    added, removed = sum(each.added for each in files), sum(each.removed for each in files)
    places = {(file.path, line.new) for file in files for line in file.lines if line.new is not None}
    return DiffPage(
        at=asked.now,
        sentence=f"{name} has changed {len(files)} files." if len(files) != 1 else f"{name} has changed 1 file.",
        of=asked.of,
        ranges=RANGES,
        source=source,
        ignores_space=asked.ignores_space,
        files=files,
        said=said,
        findings=[_finding(each, places) for each in findings],
        comments=[_comment(each, places) for each in comments],
        added=added,
        removed=removed,
    )


def _split(text: str) -> tuple[str, str]:
    """The diff, and what the tool says besides."""
    if not text.startswith(("diff --git ", "# The patches")):
        return "", one_line(text[:1000])
    diff, _, said = text.partition("\n(The diff is longer")
    return diff, f"The diff is longer{one_line(said).rstrip(')')}" if said else ""


def _finding(finding: Finding, places: set[tuple[str, int]]) -> Placed:
    lines = range(finding.first, min(finding.last, finding.first + 500) + 1)
    known = [line for line in lines if (finding.file, line) in places]
    place = f"{finding.file}:{finding.first}" if finding.first else finding.file
    return Placed(finding.title, finding.body, place, finding.file, known[-1] if known else 0, bool(known))


def _comment(comment: Comment, places: set[tuple[str, int]]) -> Placed:
    is_in = (comment.path, comment.line) in places
    return Placed("Your comment", comment.text, comment.place, comment.path, comment.line, is_in)
