"""Removes worktrees in which nothing would be lost, and says what is in the others. Blocks."""

from __future__ import annotations

import os
from typing import Final

from msgspec.structs import replace

from codex_mcp.base.errors import Refused
from codex_mcp.base.files import read_if_there
from codex_mcp.git import records
from codex_mcp.git.making import Made, branch_state, make_again, repository, taken_branches, undo, unregister
from codex_mcp.git.running import CHECKOUT_PATIENCE, Git
from codex_mcp.git.worktree import (
    HEADS,
    OPERATIONS,
    Findings,
    Left,
    State,
    Worktree,
    free_branch,
    read_overlooked,
    read_status,
    why_kept,
)

REFLOG_ENTRIES: Final = 500
"""The newest entries that are searched for commits that are on no branch."""

MOST_RESCUED: Final = 20
"""Branches made for such commits; each is a line of work that the agent gave up."""


def close(worktree: Worktree) -> Left:
    """Remove a worktree that its agent has left, unless something would be lost. Raises GitFailed, OSError."""
    if worktree.state is State.REMOVED:
        return Left(worktree)
    if worktree.state is State.MAKING:
        undo(worktree)
        return Left(replace(worktree, state=State.REMOVED))
    if not os.path.isdir(worktree.common):
        return Left(worktree, f"nothing was looked at: its repository {worktree.common} is gone")
    worktree, rescued = _with_all_commits_on_branches(worktree)
    why, state = why_kept(inspect(worktree), worktree.state), State.READY
    if why is None:
        why = _remove(worktree)
        if why is None:
            return Left(replace(worktree, state=State.REMOVED), None, rescued)
        # If git could not finish the removal, files are missing that are not the agent's changes.
        state = State.REMOVING if inspect(worktree).deleted else State.READY
    worktree = replace(worktree, state=state)
    records.write_record(worktree)
    return Left(worktree, why, rescued)


def open_again(worktree: Worktree) -> Made:
    """The worktree for its agent to go on in: as it is, or made again. Raises Refused, GitFailed, OSError."""
    has_folder = os.path.lexists(worktree.path)
    if has_folder and git_folder(worktree) is None and worktree.state is not State.MAKING:
        raise Refused(f"{worktree.path} is no worktree of {worktree.common} any longer; move it away, then try again")
    if worktree.state is State.READY and has_folder:
        return Made(worktree)
    left = close(worktree)
    if left.why is None:
        return make_again(left.worktree)
    kept = replace(left.worktree, state=State.READY)
    records.write_record(kept)
    return Made(kept)


def inspect(worktree: Worktree) -> Findings:
    """What a removal of the worktree would lose. Raises GitFailed."""
    own = git_folder(worktree)
    if not os.path.isdir(worktree.path) or own is None:
        return Findings(has_folder=os.path.lexists(worktree.path), changed=int(os.path.lexists(worktree.path)))
    git = Git(worktree.path, is_trusted=worktree.is_trusted, places=_places(worktree, own))
    listed = git.ask(
        "status", "--porcelain=v2", "-z", "--untracked-files=normal", "--no-renames", "--ignore-submodules=dirty"
    )
    changed, deleted = read_status(listed)
    overlooked = read_overlooked(git.ask("ls-files", "-v", "-z"))
    return Findings(
        changed=changed,
        deleted=deleted,
        overlooked=sum(os.path.lexists(os.path.join(os.fsencode(worktree.path), name)) for name in overlooked),
        operation=next((word for name, word in OPERATIONS.items() if os.path.exists(os.path.join(own, name))), None),
        has_submodules=os.path.isdir(os.path.join(own, "modules")),
        is_locked=os.path.exists(os.path.join(own, "locked")),
    )


def git_folder(worktree: Worktree) -> str | None:
    """The worktree's own git folder, found from the repository: a file in the worktree may say anything."""
    folder = os.path.join(worktree.common, "worktrees")
    try:
        names = [worktree.name, *os.listdir(folder)]
    except OSError:
        return None
    for name in names:
        told = read_if_there(os.path.join(folder, name, "gitdir"))
        if told is not None and os.fsdecode(told).strip() == os.path.join(worktree.path, ".git"):
            return os.path.join(folder, name)
    return None


def _places(worktree: Worktree, own: str) -> dict[str, str]:
    return {"GIT_DIR": own, "GIT_COMMON_DIR": worktree.common, "GIT_WORK_TREE": worktree.path}


def _remove(worktree: Worktree) -> str | None:
    """Remove the folder and git's entry for it. Returns why not, if git refuses."""
    records.write_record(replace(worktree, state=State.REMOVING))
    if os.path.lexists(worktree.path):
        # A removal that was interrupted is continued by force: `why_kept` has looked at what is left of it.
        force = ("--force",) if worktree.state is State.REMOVING else ()
        git = Git(worktree.common, is_trusted=worktree.is_trusted)
        ran = git.run("worktree", "remove", *force, worktree.path, patience=CHECKOUT_PATIENCE)
        if ran.code:
            return ran.errors or f"exit code {ran.code} of git worktree remove"
    unregister(worktree)
    records.write_record(replace(worktree, state=State.REMOVED))
    return None


def _with_all_commits_on_branches(worktree: Worktree) -> tuple[Worktree, tuple[str, ...]]:
    """The worktree with its present branch and tip, and the branches that were made for commits on none."""
    own = git_folder(worktree)
    if own is None:
        return worktree, ()
    head = (read_if_there(os.path.join(own, "HEAD")) or b"").decode(errors="replace").strip()
    git = repository(worktree)
    if head.startswith(f"ref: {HEADS}"):
        worktree = replace(worktree, branch=head.removeprefix(f"ref: {HEADS}"))
    tip, _ = branch_state(git, worktree.branch)
    worktree = replace(worktree, tip=tip or worktree.tip)
    rescued: list[str] = []
    candidates = _visited(own, head)
    while candidates and len(rescued) < MOST_RESCUED:
        lost = _unreachable(git, worktree, candidates)
        if lost is None:
            break
        rescued.append(free_branch(worktree.identity, taken_branches(git)))
        git.ask("branch", "--no-track", rescued[-1], lost)
    return worktree, tuple(rescued)


def _visited(own: str, head: str) -> list[str]:
    """The commits that were checked out in the worktree, newest first, by its own log."""
    lines = (read_if_there(os.path.join(own, "logs", "HEAD")) or b"").splitlines()[-REFLOG_ENTRIES:]
    entries = [words[1].decode(errors="replace") for line in reversed(lines) if len(words := line.split(b" ", 2)) > 1]
    return list(dict.fromkeys([*([] if head.startswith("ref:") else [head]), *entries]))


def _unreachable(git: Git, worktree: Worktree, candidates: list[str]) -> str | None:
    """The newest of these commits, or of those before them, that no branch, tag or log of the branch has."""
    logged = git.run("log", "-g", "--format=%H", worktree.ref, "--")
    older = logged.out.decode().split()[:REFLOG_ENTRIES] if logged.code == 0 else []
    known = ["--branches", "--tags", "--remotes", *older]
    found = git.ask("rev-list", "--topo-order", "--max-count=1", "--ignore-missing", *candidates, "--not", *known)
    return found.decode().strip() or None
