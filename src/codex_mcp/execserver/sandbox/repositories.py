"""Finds git repositories below a writable folder, and the directories where they keep hooks and configuration.

A scan goes level by level, so that the repositories nearest to the folder are found first, and stops at a bound. Its
result is used again for a while, so that scans never take more than a few hundredths of the server's time.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from codex_mcp.execserver.sandbox.git_pointers import MAX_POINTER_BYTES, common_directory, git_directory

MAX_SCANNED: Final = 10_000
"""Entries that one scan looks at, in some hundredths of a second."""

SKIPPED: Final = frozenset({"node_modules", ".venv", "venv", "__pycache__"})
"""Folders of installed packages: large, and without repositories that people work in."""

MAX_REPOSITORIES: Final = 100
"""Found below one folder; each is at least one mount and one open file at every start."""

MAX_HOPS: Final = 8
"""Pointers that lead to pointers. Git itself follows one."""

IDLE_SHARE: Final = 30
"""A scan is used again for so many times as long as it took, and then repeated."""

MAX_REMEMBERED: Final = 64
"""Folders whose scan is remembered; the oldest is forgotten first."""


@dataclass(frozen=True, slots=True)
class _Scan:
    found: tuple[str, ...]
    identity: tuple[int, int]
    until: float


class Repositories:
    """The `.git` entries below folders, remembered for a short time."""

    def __init__(self) -> None:
        self._scans: dict[str, _Scan] = {}

    def below(self, folder: str) -> tuple[str, ...]:
        """The `.git` entries in folders below this one, the nearest first; not its own."""
        began, status = time.monotonic(), os.stat(folder)
        identity = status.st_dev, status.st_ino
        known = self._scans.pop(folder, None)
        if known is None or known.until <= began or known.identity != identity:
            found = tuple(_scan(folder))
            now = time.monotonic()
            known = _Scan(found, identity, now + IDLE_SHARE * (now - began))
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
    """Every path, besides this `.git` itself, that decides about the repository's hooks and configuration: pointers on
    the way, the git folder at their end, and the folder that it shares with other worktrees. Some may be missing."""
    found: list[str] = []
    here = dot_git
    for _ in range(MAX_HOPS):
        content = _content(here)
        target = git_directory(content, os.path.dirname(here)) if content is not None else None
        if target is None:
            break
        here = os.path.realpath(target)
        found.append(here)
    content = _content(os.path.join(here, "commondir"))
    common = common_directory(content, here) if content is not None else None
    return [*found, *([os.path.realpath(common)] if common is not None else [])]


def _content(path: str) -> bytes | None:
    """What a small regular file says. Not to be held up by a named pipe that has the file's name."""
    with suppress(OSError, ValueError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                content = os.read(descriptor, MAX_POINTER_BYTES + 1)
                return content if len(content) <= MAX_POINTER_BYTES else None
        finally:
            os.close(descriptor)
    return None
