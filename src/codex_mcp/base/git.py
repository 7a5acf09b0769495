"""Git repositories, read from git's own files, which is far quicker than starting git.

Whatever cannot be read is None. The files are small; a longer one was not written by git.
"""

from __future__ import annotations

import os
import re
from typing import Final

from msgspec import Struct

from codex_mcp.base.files import opened, read_beginning, short_lines

LONGEST: Final = 256 * 1024
"""Bytes read of a file. Configurations with hundreds of branches are smaller."""

LONGEST_REF: Final = 8 * 1024
"""Bytes of a line with a branch; the longest name has 4 KiB."""

LONGEST_REFS: Final = 256 * 1024 * 1024
"""Bytes of the file of packed branches: some millions of them."""

SHORT_ID: Final = 7
"""Digits of a commit's id, as git shows it."""

_COMMIT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SECTION: Final = re.compile(r'\[\s*([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]')
_URL: Final = re.compile(r'url\s*=\s*(?:"([^"]*)"|([^"#;][^#;]*))', re.IGNORECASE)

BRANCHES: Final = "refs/heads/"
NO_BRANCH: Final = ".invalid"
"""What HEAD says in a repository that keeps its references in tables, which we do not read."""


class Checkout(Struct, frozen=True):
    root: str | None = None
    name: str | None = None
    branch: str | None = None
    """Or the short id of the commit, if no branch is checked out."""


class Position(Struct, frozen=True):
    """Where a checkout stands: its folders, and the commit that is checked out."""

    root: str
    git: str
    """Its own git folder; that of a worktree is inside of `common`."""
    common: str
    ref: str | None
    """The full name of the branch that is checked out."""
    commit: str | None
    """None if the branch has no file of its own (`packed_commit` finds it), or no commit yet."""


def position_of(folder: str) -> Position | None:
    """The position of the checkout around a folder; None if there is none. A bare repository is passed over: an agent
    can make one among its files, and nothing else would be seen of them. Raises nothing."""
    found = _repository(os.path.realpath(folder), with_bare=False)
    if found is None:
        return None
    root, git = found
    common = _common(git)
    head = (_text(os.path.join(git, "HEAD")) or "").strip()
    ref = head.removeprefix("ref:").strip() if head.startswith("ref:") else None
    commit = head if ref is None else (_text(os.path.join(common, ref)) or "").strip()
    return Position(root, git, common, ref, commit if _COMMIT.fullmatch(commit) else None)


def packed_commit(position: Position) -> str | None:
    """The commit of a branch in the file of packed branches, which can be long. A later commit does not change it."""
    if position.ref is None:
        return None
    name = position.ref.encode(errors="surrogateescape")
    try:
        with opened(os.path.join(position.common, "packed-refs")) as file:
            for line in short_lines(file, LONGEST_REF, LONGEST_REFS):
                commit, _, ref = line.rstrip(b"\n").partition(b" ")
                if ref == name and _COMMIT.fullmatch(commit.decode(errors="replace")):
                    return commit.decode()
    except OSError:
        pass
    return None


def is_repository_root(folder: str) -> bool:
    """Whether a folder has a `.git` that is more than the empty folder which a killed sandbox leaves."""
    git = os.path.join(folder, ".git")
    return os.path.isfile(git) or os.path.exists(os.path.join(git, "HEAD"))


def checkout_around(folder: str) -> Checkout:
    """The repository and branch of a folder, as they are now. Raises nothing."""
    found = _repository(os.path.realpath(folder))
    if found is None:
        return Checkout()
    root, git = found
    common = _common(git)
    name = _name_from_origin(os.path.join(common, "config")) or _name_from_folder(root, common)
    return Checkout(_utf8(root), _utf8(name), _utf8(_branch(os.path.join(git, "HEAD"))))


def _utf8(name: str | None) -> str | None:
    return None if name is None else name.encode(errors="surrogateescape").decode(errors="replace")


def _repository(folder: str, *, with_bare: bool = True) -> tuple[str, str] | None:
    while True:
        path = os.path.join(folder, ".git")
        if os.path.lexists(path) and (git := _git_folder(path)) is not None:
            return folder, git
        if with_bare and _is_git_folder(folder) and os.path.basename(folder) != ".git":
            return folder, folder  # a bare repository
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def _git_folder(path: str) -> str | None:
    """The git folder that `.git` is, or that it names in worktrees and submodules."""
    if _is_git_folder(path):
        return os.path.realpath(path)
    text = _text(path)
    if text is None or not text.startswith("gitdir:"):
        return None  # for example the empty folder that a killed sandbox leaves
    return os.path.realpath(os.path.join(os.path.dirname(path), text.removeprefix("gitdir:").strip()))


def _is_git_folder(path: str) -> bool:
    return os.path.lexists(os.path.join(path, "HEAD")) and os.path.isdir(os.path.join(path, "objects"))


def _common(git: str) -> str:
    """The git folder that a worktree shares with its repository."""
    text = _text(os.path.join(git, "commondir"))
    return git if text is None else os.path.realpath(os.path.join(git, text.strip()))


def _branch(head: str) -> str | None:
    text = (_text(head) or "").strip()
    if text.startswith("ref:"):
        name = text.removeprefix("ref:").strip().removeprefix(BRANCHES)
        return name if name and name != NO_BRANCH else None
    return text[:SHORT_ID] if _COMMIT.fullmatch(text) else None


def _name_from_origin(config: str) -> str | None:
    is_origin = False
    for line in map(str.strip, (_text(config) or "").splitlines()):
        if section := _SECTION.match(line):
            is_origin = section.group(1).lower() == "remote" and section.group(2) == "origin"
            line = line[section.end() :].strip()
        if is_origin and (url := _URL.match(line)):
            return _last_part((url.group(1) or url.group(2)).rstrip())
    return None


def _last_part(url: str) -> str | None:
    """The last name of the path in an address. Nothing before the path is used: it may hold a password."""
    _, scheme, rest = url.partition("://")
    path = rest.partition("/")[2] if scheme else url.rpartition(":")[2]  # either host:path or a path alone
    return path.rstrip("/").rpartition("/")[2].removesuffix(".git") or None


def _name_from_folder(root: str, common: str) -> str | None:
    """The name of the folder; for a worktree, that of the checkout from which it was made."""
    common = os.path.dirname(os.path.realpath(os.path.join(common, "objects")))  # those of an agent borrow them
    folder = os.path.dirname(common) if os.path.basename(common) == ".git" else root
    return os.path.basename(folder).removesuffix(".git") or None


def _text(path: str) -> str | None:
    """The start of a regular file; None for anything else. Never blocks."""
    try:
        return read_beginning(path, LONGEST).decode(errors="surrogateescape")
    except (OSError, ValueError):
        return None
