"""Finds the paths that a pattern hides, without following links and within limits."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from codex_mcp.execserver.sandbox.globs import compile_glob, search_root
from codex_mcp.execserver.sandbox.policy import REFUSAL, CannotEnforce, HiddenPattern

MAX_SCANNED: Final = 100_000
"""Entries examined for one pattern, which takes a few tenths of a second."""

MAX_MATCHES: Final = 100
"""Each costs a mount and two open files."""


def matches(hidden: HiddenPattern) -> list[str]:
    """The paths that match, without the content of folders that match. Raises CannotEnforce."""
    wanted = compile_glob(hidden.pattern)
    found: list[str] = []
    folders = [(os.path.join(hidden.folder, search_root(hidden.pattern)).rstrip("/") or "/", 1)]
    start = len(hidden.folder.rstrip("/")) + 1
    scanned = 0
    while folders:
        folder, depth = folders.pop()
        for entry in _entries(folder):
            scanned += 1
            if wanted.fullmatch(entry.path, start):
                found.append(entry.path)
            elif entry.is_dir(follow_symlinks=False) and (hidden.depth is None or depth < hidden.depth):
                folders.append((entry.path, depth + 1))
            if scanned > MAX_SCANNED or len(found) > MAX_MATCHES:
                too_many = "too many files to examine" if scanned > MAX_SCANNED else "it matches too many files"
                raise CannotEnforce(f"{REFUSAL}: pattern {hidden.pattern!r}: {too_many}")
    return found


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except OSError:
        return  # the confined process has fewer rights than we do, and cannot list it either
