"""Pure. The two kinds of file that lead from a working tree to the directory with its hooks and configuration.

    file                        content          in
    --------------------------  ---------------  ----------------------------------------------------------
    .git                        gitdir: PATH     linked worktrees, submodules, `git init --separate-git-dir`
    commondir in a git folder   PATH             the git folder of a linked worktree

Relative paths count from the folder that holds the file.
"""

from __future__ import annotations

import posixpath
from typing import Final

MAX_POINTER_BYTES: Final = 8192
"""A pointer is one path, and no path is longer than 4096 bytes. A larger file is not a pointer."""

PREFIX: Final = b"gitdir:"


def git_directory(content: bytes, folder: str) -> str | None:
    """Where the content of a `.git` file in this folder leads; None if it is not a pointer."""
    text = content.strip()
    return _target(text.removeprefix(PREFIX), folder) if text.startswith(PREFIX) else None


def common_directory(content: bytes, git_folder: str) -> str | None:
    """Where the content of `commondir` in this git folder leads; None if it says nothing."""
    return _target(content, git_folder)


def _target(content: bytes, folder: str) -> str | None:
    path = content.strip().decode("utf-8", "surrogateescape")
    if not path or "\0" in path or "\n" in path:
        return None
    return posixpath.join(folder, path)
