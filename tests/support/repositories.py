"""Real git repositories for tests, with a name and an address of their own."""

import os
import subprocess
from pathlib import Path

AUTHOR = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}

QUIET = ("-c", "gc.auto=0", "-c", "maintenance.auto=false")
"""Nothing goes on in a repository after git has ended."""


def git(folder: Path | str, *words: str, check: bool = True) -> str:
    """Run git; return what it says."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | AUTHOR
    done = subprocess.run(
        ["git", *QUIET, "-C", str(folder), *words],
        check=False,
        capture_output=True,
        env=environment,
        stdin=subprocess.DEVNULL,
    )
    assert not check or done.returncode == 0, (words, done.stderr)
    return done.stdout.decode(errors="surrogateescape").strip()


def repository(folder: Path, **files: str) -> Path:
    """A repository in a new folder, with one commit; without files, with a file `a`."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.name", "a")
    git(folder, "config", "user.email", "a@example.org")
    for name, text in (files or {"a": "one\n"}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    return folder


def commit(folder: Path, name: str, text: str) -> str:
    """Write a file and commit it; return the commit."""
    (folder / name).write_text(text)
    git(folder, "add", "--", name)
    git(folder, "commit", "-qm", f"adds {name}")
    return git(folder, "rev-parse", "HEAD")


def registrations(folder: Path) -> dict[str, list[str]]:
    """Every worktree that git knows, by path, with what it says of each."""
    blocks = [block.splitlines() for block in git(folder, "worktree", "list", "--porcelain").split("\n\n") if block]
    return {block[0].removeprefix("worktree "): block[1:] for block in blocks}


def branches(folder: Path) -> list[str]:
    return git(folder, "for-each-ref", "--format=%(refname:short)", "refs/heads").split()


def agents_git(worktree: Path | str, *words: str, check: bool = True) -> str:
    """Run git as an agent does in its sandbox: with the repository beside its files, which it may write."""
    files = Path(worktree)
    return git(files, f"--git-dir={files.parent}/.git", f"--work-tree={files}", *words, check=check)


def agents_commit(worktree: Path | str, name: str, text: str) -> str:
    """Write a file and commit it as an agent; return the commit."""
    (Path(worktree) / name).write_text(text)
    agents_git(worktree, "add", "--", name)
    agents_git(worktree, "commit", "-qm", f"adds {name}")
    return agents_git(worktree, "rev-parse", "HEAD")
