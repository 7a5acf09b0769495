"""The differences between a commit and the files of a checkout, new files included. Blocks."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from codex_mcp.base.disk.scratch import scratch_folder
from codex_mcp.base.errors import Refused
from codex_mcp.base.files import copy_regular
from codex_mcp.base.git import position_of
from codex_mcp.git.looking import DIFF
from codex_mcp.git.running import Git, GitFailed

LONGEST_INDEX: Final = 512 * 1024 * 1024
"""Bytes of git's index: some millions of files."""

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
    git = Git(position.root)
    commit = git.line("rev-parse", "--verify", "--quiet", f"{wanted.base or 'HEAD'}^{{commit}}")
    if commit is None:
        raise Refused(f"there is no diff of {position.root}: it has no commit {wanted.base or 'yet'}")
    if wanted.paths is not None and not wanted.paths:
        return Diff("", is_cut=False, base=commit)
    how = ("--stat=120",) if wanted.is_stat else ("--patch", "--find-renames")
    words = [word for word in DIFF if wanted.is_stat or word != "--no-renames"]
    chosen = [f":(top,literal){path}" for path in wanted.paths or ()]
    new_files = contextlib.nullcontext() if wanted.until is not None else _with_new_files(git, position.git, codex_home)
    with new_files as index:
        ends = (commit,) if wanted.until is None else (commit, wanted.until)
        ran = git.run(*words, *how, *ends, "--", *chosen, limit=limit, variables=index)
    if ran.code:
        raise GitFailed(f"git diff failed in {position.root}: {ran.errors}")
    text = ran.out.decode(errors="replace")
    return Diff(text if not ran.is_cut else text[: text.rfind("\n") + 1], ran.is_cut, commit)


@contextlib.contextmanager
def _with_new_files(git: Git, git_folder: str, codex_home: str) -> Iterator[Mapping[str, str]]:
    """Variables that make git use a copy of its index in which untracked files are listed. No object is written."""
    source = os.path.join(git_folder, "index")
    with contextlib.ExitStack() as stack:
        try:
            folder = stack.enter_context(scratch_folder(codex_home))
            index = os.path.join(folder, "index")
            with contextlib.suppress(FileNotFoundError):
                copy_regular(source, index, LONGEST_INDEX)
                # Git reads again what was changed in the second in which the index was written.
                written = os.lstat(source).st_mtime_ns
                os.utime(index, ns=(written, written), follow_symlinks=False)
        except OSError as exc:
            raise GitFailed(f"cannot copy {source} to look for new files: {exc.filename}: {exc.strerror}") from exc
        variables = {"GIT_INDEX_FILE": index}
        _add_new_files(git, variables)
        yield variables


def _add_new_files(git: Git, variables: Mapping[str, str]) -> None:
    """List untracked files in the index. They are named one by one: `git add .` also runs git in each submodule, with
    whatever settings an agent has put there."""
    listed = git.run("ls-files", "--others", "--exclude-standard", "-z", variables=variables)
    names = [name for name in listed.out.split(b"\0")[:-1] if not name.endswith(b"/")]  # a folder is a repository
    if names:
        words = ("add", "--intent-to-add", "--ignore-errors", "--pathspec-from-file=-", "--pathspec-file-nul")
        git.run(*words, variables={**variables, "GIT_LITERAL_PATHSPECS": "1"}, given=b"\0".join(names))


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
