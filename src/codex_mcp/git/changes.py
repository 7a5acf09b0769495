"""Pure. Files that a turn has changed, read from git's lists."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct


class ChangeKind(StrEnum):
    """As Codex calls the changes of its patches."""

    ADD = "add"
    UPDATE = "update"
    DELETE = "delete"


class Changed(Struct, frozen=True):
    path: bytes
    """Relative to the root of the checkout."""
    kind: ChangeKind
    added: int | None = None
    removed: int | None = None
    """Lines; None for a binary file, or one that is too long to be counted."""


KINDS = {b"A": ChangeKind.ADD, b"D": ChangeKind.DELETE}


def read_changes(listed: bytes) -> list[Changed]:
    """The files in the answer of `git diff --raw --numstat -z --no-renames`: all states, then all counts."""
    kinds: dict[bytes, ChangeKind] = {}
    counts: dict[bytes, tuple[int | None, int | None]] = {}
    words = iter(listed.split(b"\0"))
    for word in words:
        if word.startswith(b":"):
            kinds[next(words, b"")] = KINDS.get(word.rpartition(b" ")[2][:1], ChangeKind.UPDATE)
        elif word.count(b"\t") >= 2:
            added, removed, path = word.split(b"\t", 2)
            counts[path] = _number(added), _number(removed)
    return [Changed(path, kind, *counts.get(path, (None, None))) for path, kind in kinds.items() if path]


def read_names(listed: bytes) -> Iterator[bytes]:
    return (name for name in listed.split(b"\0") if name)


def _number(text: bytes) -> int | None:
    return int(text) if text.isdigit() else None


def lines_of(content: bytes) -> int | None:
    """How many lines a new file has; None if it is binary, by git's own rule."""
    if b"\0" in content[:8000]:
        return None
    return content.count(b"\n") + (bool(content) and not content.endswith(b"\n"))
