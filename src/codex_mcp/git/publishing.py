"""Brings what an agent has committed in its own repository into that of the user. Blocks.

git never runs with the agent's settings or references. We read its references ourselves (`agent_files`), pack the
objects that the user's repository lacks, and let git check every one of them while it unpacks them there. Then the
branches are set, each only if it is where we have left it: what somebody else has moved or checked out stays, and the
agent's commits get a branch with another name.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.base.files import opened
from codex_mcp.base.locks import locked
from codex_mcp.base.printable import foreign
from codex_mcp.git import records
from codex_mcp.git.agent_files import Told, told_in
from codex_mcp.git.layout import (
    branch_state,
    branches_of,
    fill_index,
    has_submodules,
    ours,
    receiving,
    repository,
    write_head,
)
from codex_mcp.git.running import Git, GitFailed
from codex_mcp.git.worktree import HEADS, Shared, Worktree, WorktreeState, branch_for, numbered, taken_names

PATIENCE: Final = 60.0
"""Seconds to pack or unpack what an agent has committed in a turn."""

LOCK_PATIENCE: Final = 120.0

LONGEST_PACK: Final = 2 * 1024 * 1024 * 1024
"""Bytes of new objects that are taken from an agent at once."""

MOST_BRANCHES: Final = 50
"""Of an agent, that are looked at each time."""

ATTEMPTS: Final = 5

LONGEST_BRANCH: Final = 240
"""Bytes of a branch in the user's repository, where it is one file: its name, a number and `.lock` fit into 255."""

NESTED: Final = "commits with a nested repository (a submodule), which are not taken over"

SHOWN: Final = 60
"""Characters of a name in a warning."""

NOT_MADE: Final = "The agent's branch {} is not in {}: git cannot make a branch of that name there; rename it."


class Published(Struct, frozen=True):
    worktree: Worktree
    warnings: tuple[str, ...] = ()
    """Sentences for the caller."""
    trouble: str | None = None
    """Why not everything that the agent has committed is in the user's repository."""


def publish(worktree: Worktree) -> Published:
    """Set the branches of the user's repository to what the agent has committed. Raises GitFailed, OSError."""
    if not worktree.folder or worktree.state is not WorktreeState.READY or not os.path.isdir(worktree.own_git):
        return Published(worktree)
    with locked(f"{worktree.server_git}/lock", LOCK_PATIENCE):  # one at a time, in all servers
        return _publish(records.read_record(worktree.record) or worktree)


def publish_from(root: str) -> tuple[str, ...]:
    """The same for the worktree with these files; warnings for the caller. Raises GitFailed, OSError."""
    worktree = records.read_record(os.path.dirname(root))
    return () if worktree is None or worktree.path != root else publish(worktree).warnings


def signature(told: Told) -> str:
    return f"{told.ref} {told.commit}"


def _publish(worktree: Worktree) -> Published:
    told = told_in(worktree.own_git)
    moved = _moved(worktree, told)
    has_moved_head = signature(told) != worktree.seen
    if not moved and not has_moved_head:
        return Published(worktree)
    if told.commit is None:
        return Published(worktree, trouble="a HEAD that names no commit")
    user = repository(worktree)
    ids = sorted({*moved.values(), told.commit})
    # The user's history may have nested repositories, which the agent can fill with its own when it checks them out.
    trouble = take(worktree, user, ids) or (NESTED if has_submodules(user, told.commit) else None)
    if trouble is not None:
        return Published(worktree, (f"The commits of the agent are not in {worktree.checkout}: {trouble}.",), trouble)
    warnings: list[str] = []
    current = None if told.ref is None else told.ref.removeprefix(HEADS)
    with branches_of(worktree) as git:
        for name, commit in moved.items():
            if name == current or name in worktree.shared or _is_new(user, commit):
                shared, warning = _set(worktree, git, user, name, commit)
                worktree = worktree if shared is None else replace(worktree, shared={**worktree.shared, name: shared})
                warnings += [warning] if warning else []
        worktree = _without_renamed(worktree, told, git, user)
    if has_moved_head and os.path.isdir(worktree.view):  # unless somebody has removed the agent's files
        worktree = _shown(worktree, told, current)
    records.write_record(worktree)
    return Published(worktree, tuple(warnings))


def _moved(worktree: Worktree, told: Told) -> dict[str, str]:
    """The branches of the agent that are new or have another commit, by their names; the one checked out first."""
    copied = told_in(worktree.server_git).refs
    heads = [ref for ref in told.refs if ref.startswith(HEADS)]
    heads.sort(key=lambda ref: (ref != told.ref, ref.removeprefix(HEADS) not in worktree.shared))
    changed = [ref for ref in heads if told.refs[ref] != (_tip(worktree, ref.removeprefix(HEADS)) or copied.get(ref))]
    return {ref.removeprefix(HEADS): told.refs[ref] for ref in changed[:MOST_BRANCHES]}


def _tip(worktree: Worktree, name: str) -> str | None:
    shared = worktree.shared.get(name)
    return None if shared is None else shared.tip


def take(worktree: Worktree, user: Git, commits: Iterable[str]) -> str | None:
    """Bring these commits, with all that they need, into the user's repository. Returns why not. Raises GitFailed."""
    asked = "".join(f"{commit}\n" for commit in commits).encode()
    told = user.ask("cat-file", "--batch-check=%(objecttype)", given=asked).split(b"\n")
    missing = [commit for commit, kind in zip(asked.decode().split(), told, strict=False) if kind != b"commit"]
    if missing:
        known = user.ask("for-each-ref", "--format=^%(objectname)").decode().split()
        try:
            _carry(worktree, [*missing, *dict.fromkeys(known)])
        except GitFailed as exc:
            return f"commits that git does not accept ({exc})"
    return _why_refused(worktree, user, asked)


def _carry(worktree: Worktree, revisions: list[str]) -> None:
    """Pack what these revisions need, and unpack it in the user's repository, where git checks all of it."""
    scratch = f"{worktree.server_git}/incoming"
    shutil.rmtree(scratch, ignore_errors=True)
    os.mkdir(scratch, 0o700)
    try:
        packing = ours(worktree, agents_objects=True)
        given = "".join(f"{revision}\n" for revision in revisions).encode()
        words = ("pack-objects", "--revs", "--quiet", "--delta-base-offset", f"{scratch}/new")
        packing.ask(*words, given=given, patience=PATIENCE)
        packs = [name for name in os.listdir(scratch) if name.endswith(".pack")]
        for name in packs:
            with opened(os.path.join(scratch, name), links=False) as pack:
                most = f"--max-input-size={LONGEST_PACK}"
                receiving(worktree).ask("index-pack", "--stdin", "--strict", most, given=pack, patience=PATIENCE)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _why_refused(worktree: Worktree, user: Git, asked: bytes) -> str | None:
    """git runs programs in the folder of a submodule, with settings that the agent can write there."""
    known = user.ask("for-each-ref", "--format=^%(objectname)")
    raw = ("log", "-m", "--root", "--raw", "-r", "-z", "--no-renames", "--no-abbrev", "--format=", "--diff-filter=AMT")
    listed = receiving(worktree).ask(*raw, "--stdin", given=asked + known, patience=PATIENCE)
    for entry in listed.split(b"\0"):
        if entry.startswith(b":") and entry.split(b" ")[1] == b"160000":
            return NESTED
    return None


def _is_new(user: Git, commit: str) -> bool:
    """Whether the commit is on no branch of the user's repository."""
    return bool(user.ask("rev-list", "--max-count=1", commit, "--not", "--branches", "--tags", "--remotes"))


def _set(worktree: Worktree, git: Git, user: Git, name: str, commit: str) -> tuple[Shared | None, str | None]:
    """Set the branch of the user's repository that is this branch of the agent, or make one; None if git cannot."""
    shared = worktree.shared.get(name)
    wanted = branch_for(name) if shared is None else shared.branch
    why = ""
    if shared is not None:
        tip, where = branch_state(user, shared.branch)
        if tip == commit:
            return Shared(shared.branch, commit), None
        if where is not None:
            why = f"{shared.branch} is checked out in {where}"
        elif tip is not None and tip != shared.tip:
            why = f"{shared.branch} was changed by somebody else"
        elif _updated(git, shared.branch, commit, tip):
            return Shared(shared.branch, commit), None
        else:
            why = f"{shared.branch} was changed by somebody else"
    for _attempt in range(ATTEMPTS if len(os.fsencode(wanted)) <= LONGEST_BRANCH else 0):
        listed = user.ask("for-each-ref", "--format=%(refname)", HEADS.rstrip("/"))
        taken = taken_names(listed.decode(errors="surrogateescape").splitlines())
        branch = numbered(wanted, taken)
        if _updated(git, branch, commit, None):
            warning = (
                f"The agent's branch {foreign(name, SHOWN)} is {branch} in {worktree.checkout}: {why}." if why else None
            )
            return Shared(branch, commit), warning
    return None, NOT_MADE.format(foreign(name, SHOWN), worktree.checkout)


def _updated(git: Git, branch: str, commit: str, before: str | None) -> bool:
    """Set a branch that has this commit, or make one that does not exist. Nothing else is ever written."""
    return git.succeeds("update-ref", HEADS + branch, commit, before or "0" * len(commit))


def _without_renamed(worktree: Worktree, told: Told, git: Git, user: Git) -> Worktree:
    """Delete the branches that the agent has renamed: they are gone, and another one of it has their commits."""
    kept = dict(worktree.shared)
    for name, shared in worktree.shared.items():
        if HEADS + name in told.refs:
            continue
        others = [HEADS + other.branch for other in kept.values() if other.branch != shared.branch]
        tip, where = branch_state(user, shared.branch)
        if tip is not None and others and tip == shared.tip and where is None:
            lost = user.ask("rev-list", "--max-count=1", tip, "--not", *others)
            if lost or not git.succeeds("update-ref", "-d", HEADS + shared.branch, tip):
                continue
        del kept[name]
    return replace(worktree, shared=kept)


def _shown(worktree: Worktree, told: Told, current: str | None) -> Worktree:
    """Let the view have checked out what the agent has."""
    assert told.commit is not None
    shared = None if current is None else worktree.shared.get(current)
    write_head(worktree, None if shared is None else HEADS + shared.branch, told.commit)
    fill_index(ours(worktree, index=f"{worktree.view}/index"), told.commit)
    branch = worktree.branch if shared is None else shared.branch
    return replace(worktree, branch=branch, tip=told.commit, seen=signature(told))
