"""Makes worktrees, again if they were removed, and undoes what a failure or a crash has left of it. Blocks."""

from __future__ import annotations

import contextlib
import os
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.base.errors import Refused
from codex_mcp.base.files import read_if_there
from codex_mcp.base.git import position_of
from codex_mcp.git import records
from codex_mcp.git.running import CHECKOUT_PATIENCE, Git, GitFailed
from codex_mcp.git.worktree import (
    HEADS,
    PREFIX,
    State,
    Worktree,
    folder_name,
    free_branch,
    taken_names,
    writable_places,
)

ATTEMPTS: Final = 20
"""How often another server may take the branch that we have just chosen."""


class Made(Struct, frozen=True):
    worktree: Worktree
    warnings: tuple[str, ...] = ()


class Asked(Struct, frozen=True):
    """A worktree to make: for this agent, from the checkout around this folder, in this state folder."""

    codex_id: str
    identity: str
    cwd: str
    state_dir: str
    is_trusted: bool = False

    @property
    def path(self) -> str:
        """Where the worktree will be."""
        folder = os.path.realpath(records.folder_of(self.state_dir))
        return os.path.join(folder, folder_name(self.identity, self.codex_id))


def make(asked: Asked) -> Made:
    """Make a worktree with a branch of its own. If that fails, nothing of it is left. Raises Refused, GitFailed."""
    git = Git(asked.cwd, is_trusted=asked.is_trusted)
    root, subfolder, common = _checkout(git)
    base = git.line("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if base is None:
        raise _refused(asked.cwd, f"the repository {root} has no commit yet; make a first commit")
    if subfolder and git.line("cat-file", "-t", f"{base}:{subfolder}") != "tree":
        raise _refused(asked.cwd, f"{subfolder} is not in the commit that is checked out; commit it first")
    worktree = Worktree(
        codex_id=asked.codex_id,
        identity=asked.identity,
        state=State.MAKING,
        checkout=root,
        common=common,
        path=asked.path,
        subfolder=subfolder,
        branch="",
        base=base,
        tip=base,
        is_trusted=asked.is_trusted,
    )
    if os.path.lexists(worktree.path):
        raise _refused(asked.cwd, f"{worktree.path} exists already; move it away")
    if why := _unsuitable(Git(root, is_trusted=asked.is_trusted), base):
        raise _refused(asked.cwd, why)
    return Made(_added(worktree))


def make_again(worktree: Worktree) -> Made:
    """Make a removed worktree again, from its branch. Raises Refused, GitFailed."""
    git = repository(worktree)
    tip, where = branch_state(git, worktree.branch)
    if tip is not None and where is None:
        return Made(_made(replace(worktree, tip=tip), "--", worktree.path, worktree.branch))
    tip = tip or worktree.tip
    if not git.succeeds("cat-file", "-e", f"{tip}^{{commit}}"):
        raise _refused(worktree.path, f"its branch {worktree.branch} and the commit {tip} are gone; start a new agent")
    before = f"branch {worktree.branch} is checked out in {where}" if where else f"branch {worktree.branch} is gone"
    made = _added(replace(worktree, tip=tip))
    return Made(made, (f"The agent goes on in branch {made.branch}, at commit {tip[:7]}: {before}.",))


def undo(worktree: Worktree) -> None:
    """Remove what git has made of a worktree in which its agent has not worked. Nothing else is touched."""
    import shutil  # noqa: PLC0415  not at the server's start

    shutil.rmtree(worktree.path, ignore_errors=True)
    if os.path.lexists(worktree.path):
        return  # its record stays, for the next attempt
    if os.path.isdir(worktree.common):
        unregister(worktree)
        git = repository(worktree)
        tip, where = branch_state(git, worktree.branch)
        if worktree.is_new and tip == worktree.base and where is None:
            git.run("update-ref", "-d", worktree.ref, worktree.base)
    if worktree.is_new:
        records.delete_record(worktree)
    else:
        records.write_record(replace(worktree, state=State.REMOVED))


def unregister(worktree: Worktree) -> None:
    """Make git forget a worktree whose folder is gone. Others that are gone are left to their owners."""
    import shutil  # noqa: PLC0415  not at the server's start

    if os.path.lexists(worktree.path):
        return
    repository(worktree).run("worktree", "remove", "--force", "--force", worktree.path)
    entry = os.path.join(worktree.common, "worktrees", worktree.name)
    with contextlib.suppress(OSError):  # one that git had only begun to write is not in its list
        told = read_if_there(os.path.join(entry, "gitdir"))
        if os.path.isdir(entry) and (not told or os.fsdecode(told).strip() == f"{worktree.path}/.git"):
            shutil.rmtree(entry)
            os.rmdir(os.path.dirname(entry))


def repository(worktree: Worktree) -> Git:
    """git for the repository as a whole, which does not look into the worktree."""
    return Git(worktree.common, is_trusted=worktree.is_trusted, places={"GIT_DIR": worktree.common})


def branch_state(git: Git, branch: str) -> tuple[str | None, str | None]:
    """The commit of a branch, and the folder in which it is checked out; None where there is none."""
    told = git.line("for-each-ref", "--format=%(objectname) %(worktreepath)", HEADS + branch) if branch else None
    if told is None:
        return None, None
    commit, _, where = told.partition(" ")
    return commit, where or None


def taken_branches(git: Git) -> set[str]:
    listed = git.ask("for-each-ref", "--format=%(refname)", HEADS.rstrip("/"))
    return taken_names(listed.decode(errors="surrogateescape").splitlines())


def places_to_write(worktree: Worktree) -> tuple[str, ...]:
    """The folders that the agent must be able to write to commit. Missing ones are made: a sandbox skips them."""
    position = position_of(worktree.path)
    places = () if position is None else writable_places(worktree, position.git)
    for place in places:
        with contextlib.suppress(OSError):
            os.makedirs(place, exist_ok=True)
    reftable = os.path.join(worktree.common, "reftable")
    return (*places, reftable) if places and os.path.isdir(reftable) else places


def _checkout(git: Git) -> tuple[str, str, str]:
    """The root of the checkout, the folder in it, and the repository's git folder. Raises Refused."""
    ran = git.run("rev-parse", "--is-bare-repository", "--is-inside-work-tree")
    if ran.code:
        why = "it is not in a git repository" if "not a git repository" in ran.errors else ran.errors
        raise _refused(git.folder, f"{why}; name the folder of a checkout, or leave out `worktree`")
    if ran.out.split() != [b"false", b"true"]:
        raise _refused(git.folder, "it is a bare repository or inside of .git; name the folder of a checkout")
    root = os.fsdecode(git.ask("rev-parse", "--show-toplevel").rstrip(b"\n"))
    subfolder = os.fsdecode(git.ask("rev-parse", "--show-prefix").rstrip(b"\n")).rstrip("/")
    common = os.fsdecode(git.ask("rev-parse", "--path-format=absolute", "--git-common-dir").rstrip(b"\n"))
    try:
        f"{root}{subfolder}{common}".encode()
    except UnicodeEncodeError as exc:
        raise _refused(git.folder, "the names of its folders are not UTF-8; rename them") from exc
    return root, subfolder, common


def _unsuitable(git: Git, base: str) -> str:
    """Why an agent in a worktree would not see what its caller sees in the checkout; empty if it would."""
    if not git.succeeds("symbolic-ref", "--quiet", "HEAD"):
        return f"{git.folder} has no branch checked out (a detached HEAD); check out a branch first"
    if git.succeeds("cat-file", "-e", f"{base}:.gitmodules"):
        return "the repository has submodules, whose folders would be empty; start the agent without `worktree`"
    listed = git.ask("status", "--porcelain=v2", "-z", "--no-renames", "--untracked-files=no", "--ignore-submodules")
    if count := sum(bool(entry) for entry in listed.split(b"\0")):
        files = "1 file has" if count == 1 else f"{count} files have"
        return f"{files} uncommitted changes, which would not be in it; commit or stash them first (git status)"
    return ""


def _added(worktree: Worktree) -> Worktree:
    """Make the worktree at its tip, with a new branch."""
    git = repository(worktree)
    for _attempt in range(ATTEMPTS):
        taken = taken_branches(git)
        if PREFIX.rstrip("/") in taken and not any(name.startswith(PREFIX) for name in taken):
            raise _refused(worktree.checkout, "a branch is called codex, so git cannot have codex/NAME; rename it")
        worktree = replace(worktree, branch=free_branch(worktree.identity, taken))
        try:
            return _made(worktree, "--no-track", "-b", worktree.branch, "--", worktree.path, worktree.tip)
        except GitFailed:
            if worktree.branch not in taken_branches(git):
                raise
    raise _refused(worktree.checkout, f"other programs took {ATTEMPTS} names of branches; try again")


def _made(worktree: Worktree, *words: str) -> Worktree:
    """Let git make it; the record is written before and after."""
    making = replace(worktree, state=State.MAKING)
    try:
        records.write_record(making)
        _git_in_folder(making).ask("worktree", "add", "--quiet", *words, patience=CHECKOUT_PATIENCE)
        if position_of(making.path) is None or not os.path.isdir(making.cwd):
            raise GitFailed(f"git has made no folder {making.cwd}")
        ready = replace(making, state=State.READY, is_new=False)
        records.write_record(ready)
    except (GitFailed, OSError) as exc:
        undo(making)
        raise GitFailed(f"cannot make a worktree of {worktree.checkout}: {exc}; nothing of it is left") from exc
    return ready


def _git_in_folder(worktree: Worktree) -> Git:
    # Without GIT_DIR, which git would pass on to the hooks and the checkout of the new worktree.
    return Git(worktree.common, is_trusted=worktree.is_trusted)


def _refused(folder: str, why: str) -> Refused:
    return Refused(f"cannot make a worktree for {folder}: {why}")
