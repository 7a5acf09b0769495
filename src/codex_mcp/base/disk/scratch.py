"""Scratch folders: private, in Codex's home, locked by their owner and removed by it.

Never in `$TMPDIR`: every agent that may write at all may write there, as the same user, and could put a link in the
place of a file that we, git or Codex are about to write. Codex lets no sandboxed agent write to its `.codex`.
"""

import contextlib
import errno
import fcntl
import os
import stat
from collections.abc import Iterator

from codex_mcp.base.disk.trees import remove_tree
from codex_mcp.base.files import is_named, make_private_folder

FOLDER = os.path.join("codex-mcp", "scratch")
"""In Codex's home, where a server without a team has its files as well."""

ATTEMPTS = 64
"""New folders whose lock another process may take before we do: one that removes leftovers, or an agent."""

MOST_CLEANED = 64
"""Leftovers of killed processes that are looked at before a new folder is made. A process leaves one at most."""

_THERE = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextlib.contextmanager
def scratch_folder(codex_home: str) -> Iterator[str]:
    """An empty folder of our own within this block. Blocks. Raises OSError.

    Its owner holds its lock, so that the next process can tell what a killed one has left, and remove it.
    """
    parent = os.path.join(os.path.realpath(codex_home), FOLDER)
    missing = _missing(parent)
    _remove_leftovers(parent)
    path, descriptor = _locked(parent)
    try:
        yield path
    finally:
        _remove(path)
        os.close(descriptor)
        for folder in missing:  # as it was before, unless somebody else has put something there
            with contextlib.suppress(OSError):
                os.rmdir(folder)


def new_private_folder(parent: str) -> str:
    """A new folder in a folder of ours, to stay. Raises OSError."""
    make_private_folder(parent)
    inside = os.open(parent, _THERE)
    try:
        found = os.fstat(inside)
        if found.st_uid != os.geteuid():
            raise OSError(errno.EPERM, "it belongs to another user", parent)
        if stat.S_IMODE(found.st_mode) & 0o022:
            os.fchmod(inside, 0o700)
        name = os.urandom(8).hex()
        os.mkdir(name, 0o700, dir_fd=inside)
    finally:
        os.close(inside)
    return os.path.join(parent, name)


def _missing(folder: str) -> list[str]:
    """The folders that must be made for this one, itself first."""
    found: list[str] = []
    while not os.path.lexists(folder):
        found.append(folder)
        folder = os.path.dirname(folder)
    return found


def _locked(parent: str) -> tuple[str, int]:
    for _attempt in range(ATTEMPTS):
        try:
            path = new_private_folder(parent)
            descriptor = os.open(path, _THERE)
        except FileNotFoundError:
            continue  # another process has just removed it, as a leftover, or the empty folder around it
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:  # not waited for: who may read the folder can hold its lock for ever
            _remove(path)
            os.close(descriptor)
            continue
        except OSError:  # a file system without locks, on which nobody removes leftovers
            return path, descriptor
        if is_named(descriptor, path):
            return path, descriptor
        os.close(descriptor)
    raise OSError(errno.EBUSY, "another process locks every folder that is made here", parent)


def _remove_leftovers(parent: str) -> None:
    try:
        with os.scandir(parent) as entries:
            found = [entry.path for entry, _ in zip(entries, range(MOST_CLEANED), strict=False)]
    except OSError:
        return
    for path in found:
        with contextlib.suppress(OSError):
            descriptor = os.open(path, _THERE)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(path)
            finally:
                os.close(descriptor)


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        remove_tree(path)
