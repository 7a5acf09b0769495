"""Removes worktrees in which nothing would be lost, and says what is in the others. Blocks."""

from __future__ import annotations

import os
from typing import Final

from msgspec.structs import replace

from codex_mcp.base.disk.trees import remove_tree
from codex_mcp.base.errors import Refused
from codex_mcp.base.files import write_whole
from codex_mcp.base.printable import one_line
from codex_mcp.git import records
from codex_mcp.git.agent_files import Told, logged_in, told_in
from codex_mcp.git.layout import branch_state, branches_of, fill_index, ours, repository, why_unread
from codex_mcp.git.making import Made, enter, make_again, taken_branches, undo
from codex_mcp.git.publishing import publish, signature, take
from codex_mcp.git.running import Git
from codex_mcp.git.worktree import (
    HEADS,
    Findings,
    Left,
    Worktree,
    WorktreeState,
    free_branch,
    read_status,
    why_kept,
)

REFLOG_ENTRIES: Final = 500
"""The newest entries that are searched for commits that are on no branch."""

MOST_RESCUED: Final = 20
"""Branches made for such commits; each is a line of work that the agent gave up."""

EARLIER: Final = (
    "it was made by an earlier version, whose worktrees an agent could make dangerous for git; look at its files, then"
    " delete the folder and run git worktree prune"
)


def close(worktree: Worktree) -> Left:
    """Remove a worktree that its agent has left, unless something would be lost. Raises GitFailed, OSError."""
    if worktree.state is WorktreeState.REMOVED:
        return Left(worktree)
    if not worktree.folder:
        return Left(worktree, EARLIER)
    if worktree.state is WorktreeState.MAKING:
        undo(worktree)
        return Left(replace(worktree, state=WorktreeState.REMOVED))
    if not os.path.isdir(worktree.common):
        return Left(worktree, f"nothing was looked at: its repository {worktree.common} is gone")
    published = publish(worktree)
    if why := why_unread(worktree):
        return Left(published.worktree, why)
    worktree, rescued = _with_all_commits_on_branches(published.worktree)
    found = replace(inspect(worktree), trouble=published.trouble)
    why, state = why_kept(found, worktree.state), worktree.state
    if why is None:
        why = _remove(worktree)
        if why is None:
            return Left(replace(worktree, state=WorktreeState.REMOVED), None, rescued)
        state = WorktreeState.REMOVING
    worktree = replace(worktree, state=state)
    records.write_record(worktree)
    return Left(worktree, why, rescued)


def open_again(worktree: Worktree) -> Made:
    """The worktree for its agent to go on in: as it is, or made again. Raises Refused, GitFailed, OSError."""
    if not worktree.folder:
        raise Refused(f"the worktree {worktree.path} cannot be used: {EARLIER}. Its branch is {worktree.branch}")
    if worktree.state is WorktreeState.READY and os.path.isdir(worktree.path):
        if not os.path.isdir(worktree.own_git) or not os.path.isdir(worktree.view):
            raise Refused(f"{worktree.path} is no worktree any longer; move {worktree.folder} away, then try again")
        if why := enter(worktree):
            raise Refused(f"the worktree {worktree.path} cannot be used: {why}; put a folder in its place")
        return Made(worktree)
    left = close(worktree)
    if left.why is None:
        return make_again(left.worktree)
    raise Refused(f"the worktree {worktree.path} was half removed, and now has {left.why}; move it away")


def inspect(worktree: Worktree) -> Findings:
    """What a removal of the worktree would lose. Raises GitFailed."""
    if not worktree.folder or not os.path.isdir(worktree.path):
        return Findings(has_folder=os.path.lexists(worktree.path), changed=int(os.path.lexists(worktree.path)))
    told = _told(worktree)
    commit = _standing(worktree, told)
    git = ours(worktree, agents_objects=True)
    write_whole(f"{worktree.server_git}/HEAD", f"{commit}\n".encode())
    fill_index(git, commit)
    listed = git.ask(
        *("status", "--porcelain=v2", "-z", "--untracked-files=normal", "--no-renames", "--ignore-submodules=dirty")
    )
    changed, deleted = read_status(listed)
    return Findings(changed=changed, deleted=deleted, operation=None if told is None else told.operation)


def _told(worktree: Worktree) -> Told | None:
    """What the agent's repository says; None if it is gone, as after a removal that was interrupted."""
    try:
        return told_in(worktree.own_git)
    except OSError:
        return None


def _standing(worktree: Worktree, told: Told | None) -> str:
    """The commit that is checked out: for the agent, if it has moved since we looked; else for everyone."""
    if told is not None and told.commit is not None and signature(told) != worktree.seen:
        return told.commit
    view = told_in(worktree.view) if os.path.isdir(worktree.view) else None
    if view is None or view.ref is None:
        return (view and view.commit) or worktree.tip
    return branch_state(repository(worktree), view.ref.removeprefix(HEADS))[0] or worktree.tip


def _remove(worktree: Worktree) -> str | None:
    """Remove the folder: first what only the sandbox may read. Returns why not, if that fails."""
    records.write_record(replace(worktree, state=WorktreeState.REMOVING))
    try:
        for path in (worktree.own_git, worktree.path, worktree.folder):
            if os.path.lexists(path):
                remove_tree(path)
    except OSError as exc:
        return f"files that cannot be removed: {exc.strerror}: {one_line(os.fsdecode(exc.filename or ''))}"
    records.write_record(replace(worktree, state=WorktreeState.REMOVED))
    return None


def _with_all_commits_on_branches(worktree: Worktree) -> tuple[Worktree, tuple[str, ...]]:
    """The worktree with its present branch and tip, and the branches that were made for commits on none."""
    user = repository(worktree)
    if os.path.isdir(worktree.view):
        view = told_in(worktree.view)
        branch = worktree.branch if view.ref is None else view.ref.removeprefix(HEADS)
        worktree = replace(worktree, branch=branch)
    tip, _ = branch_state(user, worktree.branch)
    worktree = replace(worktree, tip=tip or worktree.tip)
    rescued: list[str] = []
    candidates = _candidates(worktree)
    while candidates and len(rescued) < MOST_RESCUED:
        lost = _unreachable(worktree, user, candidates)
        if lost is None or take(worktree, user, [lost]) is not None:
            break
        rescued.append(free_branch(worktree.identity, taken_branches(user)))
        with branches_of(worktree) as git:
            git.ask("update-ref", HEADS + rescued[-1], lost, "0" * len(lost))
    return worktree, tuple(rescued)


def _candidates(worktree: Worktree) -> list[str]:
    """The commits that were checked out or put away in the worktree, newest first."""
    found: list[str] = []
    for git in (worktree.own_git, worktree.view):
        try:
            told = told_in(git)
        except OSError:
            continue
        others = [commit for ref, commit in told.refs.items() if git == worktree.own_git or ref == "refs/stash"]
        found += [*([told.commit] if told.commit else []), *others, *told.visited[:REFLOG_ENTRIES]]
    return list(dict.fromkeys(found))


def _unreachable(worktree: Worktree, user: Git, candidates: list[str]) -> str | None:
    """The newest of these commits, or of those before them, that no branch, tag or log of the branch has."""
    git = ours(worktree, agents_objects=True)
    asked = "".join(f"{commit}\n" for commit in candidates).encode()
    kinds = git.ask("cat-file", "--batch-check=%(objecttype)", given=asked).split(b"\n")
    there = [commit for commit, kind in zip(candidates, kinds, strict=False) if kind == b"commit"]
    known = user.ask("for-each-ref", "--format=%(objectname)").decode().split()
    older = [*logged_in(worktree.common, worktree.ref), *_amended(worktree)]
    lines = [*there, *(f"^{commit}" for commit in dict.fromkeys([*known, *older[:REFLOG_ENTRIES]]))]
    words = ("rev-list", "--topo-order", "--max-count=1", "--ignore-missing", "--stdin")
    found = git.ask(*words, given="".join(f"{line}\n" for line in lines).encode())
    return found.decode().strip() or None


def _amended(worktree: Worktree) -> list[str]:
    """What the agent's own branches once were, and what it has replaced there."""
    return [commit for name in worktree.shared for commit in logged_in(worktree.own_git, HEADS + name)]
