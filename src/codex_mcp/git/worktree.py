"""Pure. The record of an agent's worktree, its names, and what is done with it.

state     meaning                                   close, or prune after a crash            resume
--------  ----------------------------------------  ---------------------------------------  -------------------------
making    git may have made a part of it; the       what git has made is removed             the same, then made again
          agent has not begun to work in it
ready     the agent works or has worked in it       removed if clean, else kept              used as it is
removing  it was clean; a part may be gone          removed if nothing has changed           removed, then made again
removed   only its branch is left                   the record is deleted with its agent     made again from the branch

The record is written before git does anything. So a worktree that a crash leaves behind always has one.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct

PREFIX: Final = "codex/"
"""Of the branches, so that they stand together in every list. The sandbox lets an agent write only below it."""

HEADS: Final = "refs/heads/"

OPERATIONS: Final = {
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "BISECT_LOG": "bisect",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
}
"""Files in a git folder while such an operation is unfinished."""

LISTED_COMMITS: Final = 10
"""Commits that a result lists; it always has their number."""


class State(StrEnum):
    MAKING = "making"
    READY = "ready"
    REMOVING = "removing"
    REMOVED = "removed"


class Worktree(Struct, frozen=True, kw_only=True):
    codex_id: str
    identity: str
    state: State
    checkout: str
    """The root of the checkout that it was made from."""
    common: str
    """The git folder of the repository, which all its worktrees share."""
    path: str
    subfolder: str
    """The agent's folder in it, relative to its root; empty for the root."""
    branch: str
    base: str
    """The commit from which the agent began."""
    tip: str
    """The last commit of the branch that is known here."""
    is_new: bool = True
    """The agent has never worked in it, so the branch was made with it."""
    is_trusted: bool = False
    """The user trusts the repository: its hooks and filters may run."""

    @property
    def cwd(self) -> str:
        return f"{self.path}/{self.subfolder}" if self.subfolder else self.path

    @property
    def name(self) -> str:
        """The last name of its path, by which git lists it."""
        return self.path.rpartition("/")[2]

    @property
    def ref(self) -> str:
        return HEADS + self.branch


class Findings(Struct, frozen=True):
    """What there is in a worktree that a removal would lose."""

    has_folder: bool = True
    changed: int = 0
    """Files with uncommitted changes, untracked ones included. Ignored files do not count."""
    deleted: int = 0
    """Files that are only missing."""
    overlooked: int = 0
    """Files whose changes git was told to overlook (`assume-unchanged`, `skip-worktree`)."""
    operation: str | None = None
    has_submodules: bool = False
    is_locked: bool = False


def why_kept(found: Findings, state: State) -> str | None:
    """Why a worktree must not be removed; None if nothing would be lost."""
    deleted = 0 if state is State.REMOVING else found.deleted  # our own removal has begun to delete them
    if not found.has_folder:
        return None
    if found.changed or deleted:
        return f"{_files(found.changed + deleted)} with uncommitted changes"
    if found.overlooked:
        return f"{_files(found.overlooked)} whose changes git was told to overlook"
    if found.operation is not None:
        return f"an unfinished {found.operation}"
    if found.has_submodules:
        return "submodules, which git does not remove"
    return "a lock (git worktree lock)" if found.is_locked else None


def _files(count: int) -> str:
    return f"{count} file{'s' if count != 1 else ''}"


def read_status(listed: bytes) -> tuple[int, int]:
    """How many files are changed and how many are only missing, from `git status --porcelain=v2 -z --no-renames`."""
    entries = [entry for entry in listed.split(b"\0") if entry and not entry.startswith((b"#", b"!"))]
    deleted = sum(entry.startswith(b"1 .D ") for entry in entries)
    return len(entries) - deleted, deleted


def read_overlooked(listed: bytes) -> list[bytes]:
    """The files that git was told to overlook, from `git ls-files -v -z`: a small letter, or S."""
    entries = [entry for entry in listed.split(b"\0") if entry[1:2] == b" "]
    return [entry[2:] for entry in entries if entry[:1].islower() or entry[:1] == b"S"]


def free_branch(identity: str, taken: Container[str]) -> str:
    """The agent's branch: `codex/arch`, or else codex/arch-2 and so on."""
    branch, number = f"{PREFIX}{identity}", 1
    while branch in taken:
        number += 1
        branch = f"{PREFIX}{identity}-{number}"
    return branch


def taken_names(refs: Iterable[str]) -> set[str]:
    """Names that no new branch can have, given these branches: theirs, and those of the folders that they are in."""
    taken: set[str] = set()
    for ref in refs:
        words = ref.removeprefix(HEADS).split("/")
        taken.update("/".join(words[:count]) for count in range(1, len(words) + 1))
    return taken


def folder_name(identity: str, codex_id: str) -> str:
    return f"{identity}-{re.sub('[^0-9a-z]', '', codex_id.rpartition(':')[2])}"


def writable_places(worktree: Worktree, git: str) -> tuple[str, ...]:
    """What the sandbox must let the agent write so that it can commit: no hooks, settings or branches of others."""
    folder = worktree.branch.rpartition("/")[0]
    below = HEADS + folder if folder else HEADS.rstrip("/")
    common = worktree.common
    return (git, f"{common}/objects", f"{common}/{below}", f"{common}/logs/{below}")


class Left(Struct, frozen=True):
    """What became of a worktree."""

    worktree: Worktree
    why: str | None = None
    """Why its folder was kept; None if it is gone."""
    rescued: tuple[str, ...] = ()
    """New branches, for commits that were on none."""


class Work(Struct, frozen=True):
    """What an agent has done in its worktree since it began."""

    path: str
    branch: str
    """Or the short id of the commit, if no branch is checked out."""
    commits: int
    log: Sequence[str]
    """The newest commits, each with its short id and subject."""
    diffstat: str
