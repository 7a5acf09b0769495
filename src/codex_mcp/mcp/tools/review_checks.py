"""Checks, before a turn begins, that there is something to review. Runs git: call it in a thread."""

from __future__ import annotations

from collections.abc import Callable

from codex_mcp.base.errors import Refused
from codex_mcp.base.git import Position, position_of
from codex_mcp.git.comparing import comparing
from codex_mcp.git.running import Git, GitFailed
from codex_mcp.wire.app.requests import BaseBranch, Commit, Instructions, ReviewTarget


def check_review(cwd: str, target: ReviewTarget, codex_home: str) -> None:
    """Raises Refused if the folder is in no repository, the branch or commit is unknown, or nothing has changed."""
    if isinstance(target, Instructions):
        return
    position = position_of(cwd)
    if position is None:
        raise Refused(f'"{cwd}" is in no git repository, so there is nothing to review; name a repository in `cwd`.')
    root, git = position.root, Git(position.root)
    try:
        match target:
            case BaseBranch(branch=branch):
                _check_base(git, branch, lambda: _has_changes(position, codex_home))
            case Commit(sha=sha):
                if _commit(git, sha) is None:
                    raise Refused(f'"{root}" has no commit `{sha}`; `git log` lists the commits.')
            case _:
                if not _has_changes(position, codex_home):
                    raise Refused(f'Nothing to review: "{root}" has no staged, unstaged or untracked changes.')
    except GitFailed:
        return  # without git, or with a slow one, Codex itself finds out


def _check_base(git: Git, branch: str, has_changes: Callable[[], bool]) -> None:
    base = _commit(git, branch)
    if base is None:
        raise Refused(f'"{git.folder}" has no branch `{branch}`; `git branch --all` lists the branches.')
    head = _commit(git, "HEAD")
    if head and git.line("merge-base", base, head) == head and not has_changes():
        raise Refused(f'Nothing to review: "{git.folder}" has no changes that `{branch}` does not contain.')


def _commit(git: Git, name: str) -> str | None:
    """The id of a commit; None if there is none of this name."""
    return git.line("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")


def _has_changes(position: Position, codex_home: str) -> bool:
    with comparing(position, codex_home) as git:
        return bool(git.ask("status", "--porcelain", "--ignore-submodules=dirty", limit=1))
