"""Makes worktrees, again if they were removed, and undoes what a failure or a crash has left of it. Blocks."""

from __future__ import annotations

import contextlib
import errno
import os
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.base.disk.trees import remove_tree
from codex_mcp.base.errors import Refused
from codex_mcp.base.files import copy_regular, open_without_links
from codex_mcp.base.git import position_of
from codex_mcp.git import records
from codex_mcp.git.comparing import LONGEST_INDEX, comparing
from codex_mcp.git.layout import branch_state, branches_of, has_submodules, in_view, lay_out, repository, settings_of
from codex_mcp.git.running import CHECKOUT_PATIENCE, Git, GitFailed
from codex_mcp.git.worktree import HEADS, PREFIX, Shared, Worktree, WorktreeState, folder_name, free_branch, taken_names

TREE: Final = "tree"

SUBMODULES: Final = "the repository has submodules, whose folders would be empty; start the agent without `worktree`"

ATTEMPTS: Final = 20
"""How often another server may take the branch that we have just chosen."""


class Made(Struct, frozen=True):
    worktree: Worktree
    warnings: tuple[str, ...] = ()


class WantedWorktree(Struct, frozen=True):
    """A worktree to make: for this agent, from the checkout around this folder, in this state folder."""

    codex_id: str
    identity: str
    cwd: str
    state_dir: str

    @property
    def path(self) -> str:
        """The folder of the worktree, and of all that belongs to it."""
        folder = os.path.realpath(records.folder_of(self.state_dir))
        return os.path.join(folder, folder_name(self.identity, self.codex_id))


def make(asked: WantedWorktree) -> Made:
    """Make a worktree with a branch of its own. If that fails, nothing of it is left. Raises Refused, GitFailed."""
    git = Git(asked.cwd)
    root, subfolder, common = _checkout(git)
    common = _users_repository(asked, common)
    base = git.line("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if base is None:
        raise _refused(asked.cwd, f"the repository {root} has no commit yet; make a first commit")
    if subfolder and git.line("cat-file", "-t", f"{base}:{subfolder}") != "tree":
        raise _refused(asked.cwd, f"{subfolder} is not in the commit that is checked out; commit it first")
    worktree = Worktree(
        codex_id=asked.codex_id,
        identity=asked.identity,
        state=WorktreeState.MAKING,
        checkout=root,
        common=common,
        path=f"{asked.path}/{TREE}",
        folder=asked.path,
        subfolder=subfolder,
        branch="",
        base=base,
        tip=base,
    )
    if os.path.lexists(worktree.folder):
        raise _refused(asked.cwd, f"{worktree.folder} exists already; move it away")
    if why := _unsuitable(asked, Git(root), base):
        raise _refused(asked.cwd, why)
    return Made(_added(worktree))


def make_again(worktree: Worktree) -> Made:
    """Make a removed worktree again, from its branch. Raises Refused, GitFailed."""
    git = repository(worktree)
    tip, where = branch_state(git, worktree.branch)
    if tip is not None and where is None:
        return Made(_made(replace(worktree, tip=tip)))
    tip = tip or worktree.tip
    if not git.succeeds("cat-file", "-e", f"{tip}^{{commit}}"):
        raise _refused(worktree.path, f"its branch {worktree.branch} and the commit {tip} are gone; start a new agent")
    before = f"branch {worktree.branch} is checked out in {where}" if where else f"branch {worktree.branch} is gone"
    made = _added(replace(worktree, tip=tip))
    return Made(made, (f"The agent goes on in branch {made.branch}, at commit {tip[:7]}: {before}.",))


def enter(worktree: Worktree) -> str | None:
    """Make sure that the agent's folder is there; an empty one replaces a missing one. Returns why it cannot be used.

    The agent can commit a link in the place of each folder on the way to it, and what it links to would become the
    folder in which Codex runs git and lets the agent write. Raises OSError.
    """
    try:
        os.close(open_without_links(os.path.join(os.path.realpath(worktree.path), worktree.subfolder), create=True))
    except OSError as exc:
        if exc.errno not in {errno.ENOTDIR, errno.ELOOP}:
            raise
        return f"the agent's folder {worktree.subfolder}, or one on the way to it, is a link or a file"
    return None


def undo(worktree: Worktree) -> None:
    """Remove what was made of a worktree in which its agent has not worked. Nothing else is touched."""
    if not worktree.folder:
        return  # of an earlier version
    with contextlib.suppress(OSError):
        remove_tree(worktree.folder)
    if os.path.lexists(worktree.folder):
        return  # its record stays, for the next attempt
    if os.path.isdir(worktree.common) and worktree.is_new and worktree.branch:
        git = repository(worktree)
        tip, where = branch_state(git, worktree.branch)
        if tip == worktree.base and where is None and not _is_of_another(worktree):
            with branches_of(worktree) as setting:
                setting.run("update-ref", "-d", worktree.ref, worktree.base)
    if worktree.is_new:
        records.delete_record(worktree)
    else:
        records.write_record(replace(worktree, state=WorktreeState.REMOVED))


def _is_of_another(worktree: Worktree) -> bool:
    """Whether the branch is that of another agent's worktree, which was made at the same time."""
    others = [each for each in records.beside(worktree) if each.common == worktree.common]
    return any(shared.branch == worktree.branch for each in others for shared in each.shared.values())


def taken_branches(git: Git) -> set[str]:
    listed = git.ask("for-each-ref", "--format=%(refname)", HEADS.rstrip("/"))
    return taken_names(listed.decode(errors="surrogateescape").splitlines())


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


def _unsuitable(asked: WantedWorktree, git: Git, base: str) -> str:
    """Why an agent in a worktree would not see what its caller sees in the checkout; empty if it would."""
    if not git.succeeds("symbolic-ref", "--quiet", "HEAD"):
        return f"{git.folder} has no branch checked out (a detached HEAD); check out a branch first"
    if git.succeeds("cat-file", "-e", f"{base}:.gitmodules"):
        return SUBMODULES
    words = ("status", "--porcelain=v2", "-z", "--no-renames", "--untracked-files=no", "--ignore-submodules")
    position = position_of(git.folder)
    if position is None:
        return f"the git folder of {git.folder} cannot be read"
    with comparing(position, asked.state_dir) as looking:
        listed = looking.ask(*words)
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
            return _made(worktree, with_branch=True)
        except GitFailed:
            if worktree.branch not in taken_branches(git):
                raise
    raise _refused(worktree.checkout, f"other programs took {ATTEMPTS} names of branches; try again")


def _made(worktree: Worktree, *, with_branch: bool = False) -> Worktree:
    """Make it; the record is written before and after. Raises Refused, GitFailed."""
    if has_submodules(repository(worktree), worktree.tip):  # by the user's repository, whatever its checkout says
        raise _refused(worktree.checkout, SUBMODULES)
    shared = {worktree.branch: Shared(worktree.branch, worktree.tip)}
    making = replace(worktree, state=WorktreeState.MAKING, shared=shared, seen=f"{worktree.ref} {worktree.tip}")
    try:
        records.write_record(making)
        if with_branch:
            # Never the branch of another: it must not exist.
            with branches_of(making) as git:
                git.ask("update-ref", making.ref, making.tip, "0" * len(making.tip))
        lay_out(making)
        _check_out(making)
        if why := enter(making):
            raise GitFailed(f"in branch {making.branch}, {why}; commit a folder in its place, or start a new agent")
        ready = replace(making, state=WorktreeState.READY, is_new=False)
        records.write_record(ready)
    except (GitFailed, OSError) as exc:
        undo(making)
        raise GitFailed(f"cannot make a worktree of {worktree.checkout}: {exc}; nothing of it is left") from exc
    return ready


def _check_out(worktree: Worktree) -> None:
    """Write the files of the commit, and the index of the view and of the agent."""
    git = in_view(worktree, settings_of(worktree))
    git.ask("read-tree", "-m", "-u", worktree.tip, patience=CHECKOUT_PATIENCE)
    git.run("update-index", "-q", "--refresh")
    copy_regular(f"{worktree.view}/index", f"{worktree.own_git}/index", LONGEST_INDEX)


def _users_repository(asked: WantedWorktree, common: str) -> str:
    """The repository whose branches the agent gets: for a folder in another agent's worktree, that of the other."""
    folder = os.path.dirname(asked.path)
    inside = os.path.relpath(os.path.realpath(asked.cwd), folder)
    record = None if inside.startswith("..") else records.read_record(os.path.join(folder, inside.partition("/")[0]))
    return common if record is None else record.common


def _refused(folder: str, why: str) -> Refused:
    return Refused(f"cannot make a worktree for {folder}: {why}")
