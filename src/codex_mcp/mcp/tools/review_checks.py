"""Checks, before a turn begins, that there is something to review. Runs git: call it in a thread.

git must not run what an untrusted repository names in its own configuration, so its filters and monitors are off.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import Final

from codex_mcp.base.errors import Refused
from codex_mcp.base.git import checkout_around
from codex_mcp.wire.app.requests import BaseBranch, Commit, Instructions, ReviewTarget

PATIENCE: Final = 20.0
"""Seconds for git. A large repository on a slow disk takes some; beyond that the review begins unchecked."""

OWN: Final = ("--get-regexp", r"^filter\.")

SAFE: Final = {"core.fsmonitor": "false", "core.hooksPath": "/dev/null", "status.submoduleSummary": "false"}


def check_review(cwd: str, target: ReviewTarget) -> None:
    """Raises Refused if the folder is in no repository, the branch or commit is unknown, or nothing has changed."""
    if isinstance(target, Instructions):
        return
    root = checkout_around(cwd).root
    if root is None:
        raise Refused(f'"{cwd}" is in no git repository, so there is nothing to review; name a repository in `cwd`.')
    try:
        git = _Git(root)
        match target:
            case BaseBranch(branch=branch):
                _check_base(git, branch)
            case Commit(sha=sha):
                if not git.commit(sha):
                    raise Refused(f'"{root}" has no commit `{sha}`; `git log` lists the commits.')
            case _:
                if not git.has_changes():
                    raise Refused(f'Nothing to review: "{root}" has no staged, unstaged or untracked changes.')
    except (OSError, subprocess.TimeoutExpired):
        return  # without git, or with a slow one, Codex itself finds out


def _check_base(git: _Git, branch: str) -> None:
    base = git.commit(branch)
    if not base:
        raise Refused(f'"{git.root}" has no branch `{branch}`; `git branch --all` lists the branches.')
    head = git.commit("HEAD")
    if head and git.out("merge-base", base, head) == head and not git.has_changes():
        raise Refused(f'Nothing to review: "{git.root}" has no changes that `{branch}` does not contain.')


class _Git:
    def __init__(self, root: str) -> None:
        self.root = root
        self._environment = {"HOME": os.path.expanduser("~"), "PATH": os.defpath}
        drivers = {name.split(".", 1)[1].rpartition(".")[0] for name in self.out("config", "--name-only", *OWN).split()}
        filters = {f"filter.{driver}.{key}": "" for driver in drivers for key in ("clean", "smudge", "process")}
        settings = {**SAFE, **filters, **{f"filter.{driver}.required": "false" for driver in drivers}}
        self._environment |= {"GIT_CONFIG_COUNT": str(len(settings)), "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
        # An incomplete clone would otherwise fetch what is missing, with a program that its settings name.
        self._environment |= {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}
        for number, (key, value) in enumerate(settings.items()):
            self._environment |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}

    def out(self, *words: str) -> str:
        """What git prints; empty if it fails."""
        command = [shutil.which("git") or "git", "-C", self.root, *words]
        ran = subprocess.run(
            command, env=self._environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False
        )
        return ran.stdout.decode(errors="surrogateescape").strip() if ran.returncode == 0 else ""

    def commit(self, name: str) -> str:
        """The id of a commit; empty if there is none of this name."""
        words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        return self.out(*words) or self.out(*words)  # again: an empty answer may be that of a git that was ended

    def has_changes(self) -> bool:
        """Raises OSError if git does not say so."""
        head, *changes = self.out("status", "--porcelain", "--branch", "--ignore-submodules=dirty").splitlines() or [""]
        if not head.startswith("## "):
            raise OSError("git status failed")
        return bool(changes)
