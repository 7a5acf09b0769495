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
"""Of the branches of agents in the user's repository. No other branch is ever written."""

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


class WorktreeState(StrEnum):
    MAKING = "making"
    READY = "ready"
    REMOVING = "removing"
    REMOVED = "removed"


class Shared(Struct, frozen=True):
    """A branch of the agent in the user's repository."""

    branch: str
    tip: str
    """The commit to which we have set it. If it has another one, somebody else has moved it."""


class Worktree(Struct, frozen=True, kw_only=True):
    codex_id: str
    identity: str
    state: WorktreeState
    checkout: str
    """The root of the checkout that it was made from."""
    common: str
    """The git folder of the repository, which all its worktrees share."""
    path: str
    """The agent's files; `folder`/tree."""
    folder: str = ""
    """All that belongs to the worktree. Empty in the record of an earlier version, whose worktrees are not touched."""
    subfolder: str
    """The agent's folder in it, relative to its root; empty for the root."""
    branch: str
    base: str
    """The commit from which the agent began."""
    tip: str
    """The last commit of the branch that is known here."""
    is_new: bool = True
    """The agent has never worked in it, so the branch was made with it."""
    shared: dict[str, Shared] = {}
    """The agent's branches in the user's repository, by the name that the agent has given them."""
    seen: str = ""
    """Where the agent's own repository stood when it was last looked at."""

    @property
    def own_git(self) -> str:
        """The agent's own repository. Only git in its sandbox obeys what is in it."""
        return f"{self.folder}/.git"

    @property
    def view(self) -> str:
        """The git folder that everyone else sees, which the agent cannot write. Its sandbox hides it."""
        return f"{self.path}/.git"

    @property
    def server_git(self) -> str:
        """The git folder for our own runs of git. It has no settings but ours."""
        return f"{self.folder}/server.git"

    @property
    def cwd(self) -> str:
        return f"{self.path}/{self.subfolder}" if self.subfolder else self.path

    @property
    def record(self) -> str:
        """The path of its record, without the suffix."""
        return self.folder or self.path

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
    operation: str | None = None
    trouble: str | None = None
    """Why the agent's commits are not all in the user's repository."""


def why_kept(found: Findings, state: WorktreeState) -> str | None:
    """Why a worktree must not be removed; None if nothing would be lost."""
    deleted = 0 if state is WorktreeState.REMOVING else found.deleted  # our own removal has begun to delete them
    if not found.has_folder:
        return None
    if found.changed or deleted:
        return f"{_files(found.changed + deleted)} with uncommitted changes"
    if found.trouble is not None:
        return found.trouble
    return None if found.operation is None else f"an unfinished {found.operation}"


def _files(count: int) -> str:
    return f"{count} file{'s' if count != 1 else ''}"


def read_status(listed: bytes) -> tuple[int, int]:
    """How many files are changed and how many are only missing, from `git status --porcelain=v2 -z --no-renames`."""
    entries = [entry for entry in listed.split(b"\0") if entry and not entry.startswith((b"#", b"!"))]
    deleted = sum(entry.startswith(b"1 .D ") for entry in entries)
    return len(entries) - deleted, deleted


def free_branch(identity: str, taken: Container[str]) -> str:
    """The agent's branch: `codex/arch`, or else codex/arch-2 and so on."""
    return numbered(PREFIX + identity, taken)


def taken_names(refs: Iterable[str]) -> set[str]:
    """Names that no new branch can have, given these branches: theirs, and those of the folders that they are in."""
    taken: set[str] = set()
    for ref in refs:
        words = ref.removeprefix(HEADS).split("/")
        taken.update("/".join(words[:count]) for count in range(1, len(words) + 1))
    return taken


def branch_for(name: str) -> str:
    """The name in the user's repository for a branch of an agent. It is in no folder that could be a branch there, and
    no terminal obeys it."""
    return PREFIX + "".join(
        letter if letter.isprintable() and letter != "/" else "-" for letter in name.removeprefix(PREFIX)
    )


def numbered(branch: str, taken: Container[str]) -> str:
    """This branch, or else with the first number that makes it free."""
    free, number = branch, 1
    while free in taken:
        number += 1
        free = f"{branch}-{number}"
    return free


def folder_name(identity: str, codex_id: str) -> str:
    return f"{identity}-{re.sub('[^0-9a-z]', '', codex_id.rpartition(':')[2])}"


def places(worktree: Worktree) -> dict[str, str]:
    """The access of the agent's commands to the places of its worktree.

    Each folder on the way to the agent's own is named, so that it is a mount of its own, which cannot be renamed, and
    Codex protects the `.git` in it.
    """
    found = {worktree.folder: "read", worktree.own_git: "write", worktree.path: "write", worktree.view: "deny"}
    folder = worktree.path
    for name in filter(None, worktree.subfolder.split("/")):
        folder = f"{folder}/{name}"
        found[folder] = "write"
    return found


class Left(Struct, frozen=True):
    """What became of a worktree."""

    worktree: Worktree
    why: str | None = None
    """Why its folder was kept; None if it is gone."""
    rescued: tuple[str, ...] = ()
    """New branches, for commits that were on none."""


class WorkDone(Struct, frozen=True):
    """What an agent has done in its worktree since it began."""

    path: str
    branch: str
    """Or the short id of the commit, if no branch is checked out."""
    commits: int
    log: Sequence[str]
    """The newest commits, each with its short id and subject."""
    diffstat: str
