"""Finds git repositories below a writable folder, and the directories with their hooks and configuration.

A scan goes level by level, so that the nearest repositories are found first, and stops at a limit. Its result is reused
for a while, so that scans take at most a few percent of the server's time. Two kinds of file point from a working tree
to its git directory:

    file                             content          in
    -------------------------------  ---------------  ----------------------------------------------------------
    .git                             gitdir: PATH     linked worktrees, submodules, `git init --separate-git-dir`
    commondir in a git directory     PATH             the git directory of a linked worktree

Relative paths start at the folder that holds the file.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from msgspec import Struct

from codex_mcp.base.files import read_regular

MAX_SCANNED: Final = 10_000
"""Entries examined by one scan, in some hundredths of a second."""

SKIPPED: Final = frozenset({"node_modules", ".venv", "venv", "__pycache__"})
"""Folders of installed packages: large, and without repositories to protect."""

MAX_REPOSITORIES: Final = 100
"""Found below one folder; each costs at least one mount and one open file at every start."""

MAX_HOPS: Final = 8
"""Pointers to pointers. Git itself follows one."""

MAX_POINTER_BYTES: Final = 8192
"""A pointer is one path, of at most 4096 bytes. A larger file is not a pointer."""

POINTER_PREFIX: Final = b"gitdir:"

REUSE_FACTOR: Final = 30
"""The result of a scan is reused for this many times as long as the scan took."""

MAX_REMEMBERED: Final = 64
"""Folders whose scan is remembered; the oldest is forgotten first."""


class _Scan(Struct, frozen=True):
    found: tuple[str, ...]
    identity: tuple[int, int]
    until: float


class Repositories:
    def __init__(self) -> None:
        self._scans: dict[str, _Scan] = {}

    def below(self, folder: str) -> tuple[str, ...]:
        """The `.git` entries below this folder, nearest first, without its own."""
        began, status = time.monotonic(), os.stat(folder)
        identity = status.st_dev, status.st_ino
        known = self._scans.pop(folder, None)
        if known is None or known.until <= began or known.identity != identity:
            found = tuple(_scan(folder))
            now = time.monotonic()
            known = _Scan(found, identity, now + REUSE_FACTOR * (now - began))
        self._scans[folder] = known
        if len(self._scans) > MAX_REMEMBERED:
            del self._scans[next(iter(self._scans))]
        return known.found


def _scan(root: str) -> Iterator[str]:
    level, scanned, count = [root], 0, 0
    while level:
        below: list[str] = []
        for folder in level:
            with suppress(OSError), os.scandir(folder) as entries:
                for entry in entries:
                    scanned += 1
                    if scanned > MAX_SCANNED or count >= MAX_REPOSITORIES:
                        return
                    if entry.name == ".git":
                        if folder != root:
                            count += 1
                            yield entry.path
                    elif entry.name not in SKIPPED and entry.is_dir(follow_symlinks=False):
                        below.append(entry.path)
        level = below


def git_directories(dot_git: str) -> list[str]:
    """Every path besides this `.git` that determines the repository's hooks and configuration: intermediate pointers,
    the git directory, and the directory shared with other worktrees. Some may be missing."""
    found: list[str] = []
    here = dot_git
    for _ in range(MAX_HOPS):
        target = git_directory(_content(here), os.path.dirname(here))
        if target is None:
            break
        here = os.path.realpath(target)
        found.append(here)
    common = pointer_target(_content(os.path.join(here, "commondir")), here)
    return found if common is None else [*found, os.path.realpath(common)]


def git_directory(content: bytes, folder: str) -> str | None:
    """Where a `.git` file in this folder points; None if it is not a pointer."""
    text = content.strip()
    return pointer_target(text.removeprefix(POINTER_PREFIX), folder) if text.startswith(POINTER_PREFIX) else None


def pointer_target(content: bytes, folder: str) -> str | None:
    """The path that a pointer in this folder contains, such as `commondir`; None if there is none."""
    path = content.strip().decode("utf-8", "surrogateescape")
    return os.path.join(folder, path) if path and "\0" not in path and "\n" not in path else None


def _content(path: str) -> bytes:
    """The content of a small regular file, else nothing. Does not block on a named pipe."""
    with suppress(OSError, ValueError):
        return read_regular(path, MAX_POINTER_BYTES)
    return b""
