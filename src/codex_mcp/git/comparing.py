"""git for the files of a checkout that anybody may have written, with a git folder of ours. Blocks.

Whatever looks at files could run filters, monitors and helpers that a repository's settings name. So git does not read
these settings: its git folder is a scratch folder, and of the repository it has objects, index and lists of patterns.

    HEAD                                the commit that is checked out
    config                              how objects are named
    info/                               copies of exclude, attributes and sparse-checkout
    sharedindex.*                       links, for an index that is stored in two parts
    index                               a copy, if new files are to be added to it; else the repository's own is used

The settings of the user, and those of the repository that only say how files are compared, come by `guard.allowed`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Final

from codex_mcp.base.disk.scratch import scratch_folder
from codex_mcp.base.files import copy_regular, read_if_there, write_passing
from codex_mcp.base.git import Position, packed_commit
from codex_mcp.git import guard
from codex_mcp.git.running import Git, GitFailed

LONGEST_INDEX: Final = 512 * 1024 * 1024
"""Bytes of git's index: some millions of files."""

PATTERNS: Final = ("exclude", "attributes")
SPARSE: Final = "sparse-checkout"

MOST_PARTS: Final = 16
"""Shared parts of an index that are linked. Git keeps those of the last two weeks."""

NO_BRANCH: Final = b"ref: refs/heads/none\n"
"""What HEAD says where nothing is checked out."""


@contextlib.contextmanager
def comparing(position: Position, home: str, *, copies_index: bool = False) -> Iterator[Git]:
    """git within this block. Its folder is made in a scratch folder in `home`. Raises GitFailed."""
    user = Git(position.root, places={"GIT_DIR": position.git, "GIT_WORK_TREE": position.root})
    listed = user.ask("config", "--list", "--show-scope", "-z")
    with contextlib.ExitStack() as stack:
        try:
            folder = stack.enter_context(scratch_folder(home))
            _lay_out(folder, position, user, listed)
            if copies_index:
                _copy_index(os.path.join(position.git, "index"), os.path.join(folder, "index"))
        except OSError as exc:
            raise GitFailed(
                f"cannot look at the files of {position.root}: {exc.filename}: {exc.strerror or exc}"
            ) from exc
        places = {
            "GIT_DIR": folder,
            "GIT_WORK_TREE": position.root,
            "GIT_OBJECT_DIRECTORY": os.path.join(position.common, "objects"),
            "GIT_SHALLOW_FILE": os.path.join(position.common, "shallow"),
            "GIT_INDEX_FILE": os.path.join(folder if copies_index else position.git, "index"),
        }
        yield Git.sealed(position.root, places, guard.allowed(listed, away=folder))


def head_of(position: Position, user: Git) -> str | None:
    """The commit that is checked out."""
    return (
        position.commit
        or packed_commit(position)
        or user.line("rev-parse", "--verify", "--quiet", "--end-of-options", "HEAD^{commit}")
    )


def _lay_out(folder: str, position: Position, user: Git, listed: bytes) -> None:
    for name in ("refs", "info"):
        os.mkdir(os.path.join(folder, name), 0o700)
    commit = head_of(position, user)
    write_passing(os.path.join(folder, "HEAD"), NO_BRANCH if commit is None else f"{commit}\n".encode())
    write_passing(os.path.join(folder, "config"), guard.format_of(listed).encode())
    for place, name in (*((position.common, name) for name in PATTERNS), (position.git, SPARSE)):
        data = read_if_there(os.path.join(place, "info", name))
        if data is not None:
            write_passing(os.path.join(folder, "info", name), data)
    with os.scandir(position.git) as entries:
        parts = [entry.name for entry in entries if entry.name.startswith("sharedindex.")]
    for name in parts[:MOST_PARTS]:
        os.symlink(os.path.join(position.git, name), os.path.join(folder, name))


def _copy_index(source: str, target: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        copy_regular(source, target, LONGEST_INDEX)
        # Git reads again what was changed in the second in which the index was written.
        written = os.lstat(source).st_mtime_ns
        os.utime(target, ns=(written, written), follow_symlinks=False)
