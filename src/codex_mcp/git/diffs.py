"""The differences between a commit and the files of a checkout, new files included. Blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from codex_mcp.base.errors import Refused
from codex_mcp.base.git import position_of
from codex_mcp.git.comparing import comparing
from codex_mcp.git.looking import DIFF
from codex_mcp.git.running import Git, GitFailed

ATTEMPTS: Final = 3
"""To list new files, some of which may be gone by the time they are added."""

REMOTES: Final = "refs/remotes/"
MAIN: Final = ("main", "master")

MOST_REMOTE_BRANCHES: Final = 32
"""Branches of remotes that contain HEAD; all of them are as near as possible."""


class Diff(Struct, frozen=True):
    text: str
    is_cut: bool
    base: str
    """The commit with which the files were compared."""


class Wanted(Struct, frozen=True):
    """What to compare: a commit (None: the one that is checked out) with the files of the checkout, or with `until`."""

    base: str | None = None
    paths: Sequence[str] | None = None
    """None: all files."""
    until: str | None = None
    is_stat: bool = False


def diff_of(cwd: str, wanted: Wanted, limit: int, codex_home: str) -> Diff:
    """The differences in the checkout around this folder, at most so many bytes. Raises Refused, GitFailed.

    A copy of git's index, with the new files, is made in a scratch folder in Codex's home.
    """
    position = position_of(cwd)
    if position is None:
        raise Refused(f"there is no diff of {cwd}: it is not in a git repository")
    name = wanted.base or "HEAD"
    commit = Git(position.root).line("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    if commit is None:
        raise Refused(f"there is no diff of {position.root}: it has no commit {wanted.base or 'yet'}")
    if wanted.paths is not None and not wanted.paths:
        return Diff("", is_cut=False, base=commit)
    how = ("--stat=120",) if wanted.is_stat else ("--patch", "--find-renames")
    words = [word for word in DIFF if wanted.is_stat or word != "--no-renames"]
    chosen = [f":(top,literal){path}" for path in wanted.paths or ()]
    with comparing(position, codex_home, copies_index=True) as git:
        if wanted.until is None:
            _add_new_files(git)
        ends = (commit,) if wanted.until is None else (commit, wanted.until)
        ran = git.run(*words, *how, *ends, "--", *chosen, limit=limit)
    if ran.code:
        raise GitFailed(f"git diff failed in {position.root}: {ran.errors}")
    text = ran.out.decode(errors="replace")
    return Diff(text if not ran.is_cut else text[: text.rfind("\n") + 1], ran.is_cut, commit)


def _add_new_files(git: Git) -> None:
    """List untracked files in the index; no object is written. They are named one by one: `git add .` also runs git in
    each submodule, with whatever settings an agent has put there. Raises GitFailed."""
    words = ("add", "--intent-to-add", "--pathspec-from-file=-", "--pathspec-file-nul")
    for attempt in range(ATTEMPTS):
        listed = git.ask("ls-files", "--others", "--exclude-standard", "-z")
        names = [name for name in listed.split(b"\0")[:-1] if not name.endswith(b"/")]  # a folder is a repository
        if not names:
            return
        added = git.run(*words, variables={"GIT_LITERAL_PATHSPECS": "1"}, given=b"\0".join(names))
        if added.code == 0:
            return
        if attempt == ATTEMPTS - 1:
            raise GitFailed(f"git cannot list the new files of {git.folder}: {added.errors}")


def remote_commit(cwd: str) -> str | None:
    """The newest commit of a remote from which the checkout around a folder has gone on, by the branches that git
    remembers of its remotes: that of the current branch, of the main one, and those that contain HEAD."""
    position = position_of(cwd)
    if position is None:
        return None
    git = Git(position.root)
    if git.line("rev-parse", "--verify", "--quiet", "HEAD^{commit}") is None:
        return None
    branch = git.line("symbolic-ref", "--quiet", "--short", "HEAD")
    remotes = sorted(_lines(git, "remote"), key=lambda name: name != "origin")
    heads = [git.line("symbolic-ref", "--quiet", f"{REMOTES}{remote}/HEAD") for remote in remotes]
    names = [name for name in (branch, *MAIN) if name is not None]
    found = [f"{REMOTES}{remote}/{name}" for name in names[:1] for remote in remotes]
    found += [head for head in heads if head is not None]
    found += [f"{REMOTES}{remote}/{name}" for name in names[1:] for remote in remotes]
    containing = ("for-each-ref", f"--count={MOST_REMOTE_BRANCHES}", "--contains=HEAD", "--format=%(refname)", REMOTES)
    found += _lines(git, *containing)
    commits = [git.line("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}") for ref in dict.fromkeys(found)]
    known = list(dict.fromkeys(commit for commit in commits if commit is not None))
    return min(known, key=lambda commit: int(git.ask("rev-list", "--count", f"{commit}..HEAD")), default=None)


def _lines(git: Git, *words: str) -> list[str]:
    return git.ask(*words).decode(errors="surrogateescape").splitlines()
