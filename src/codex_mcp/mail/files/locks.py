"""The locks of an inbox: Claude Code's, a folder `<agent>.json.lock`, and atm's, a flock on `<agent>.lock`.

Each program respects only its own, so we hold both. We never wait for one while we hold the other: Claude Code gives up
after 0.7 s, atm after 1.5 s. A lock folder that is older than ten seconds was left by a process that died. atm 1.0
puts a file with a flock in the place of the folder; we wait for that too.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import stat
import time
from collections.abc import Iterator
from typing import Final

from codex_mcp.base.errors import Explained
from codex_mcp.base.files import is_named, open_regular

STALE_AFTER: Final = 10.0
"""Seconds after which Claude Code takes a lock folder for abandoned, and so do we."""

PATIENCE: Final = 15.0
"""Seconds that we try: longer than an abandoned lock lasts."""

PAUSES: Final = (0.003, 0.015)
"""Seconds between two attempts, drawn at random so that two writers do not keep meeting."""


class Locked(Explained):
    """Another program holds the lock for too long."""


class HeldLocks:
    """Both locks of a file, while they are held."""

    def __init__(self, folder: str, folder_id: tuple[int, int], descriptor: int) -> None:
        self._folder = folder
        self._folder_id = folder_id
        self._descriptor = descriptor

    def are_ours(self) -> bool:
        """Whether the folder is still the one that we made. A process that was stopped for long may have lost it."""
        return _identity(self._folder) == self._folder_id

    def release(self) -> None:
        if self.are_ours():
            with contextlib.suppress(OSError):
                os.rmdir(self._folder)
        os.close(self._descriptor)


@contextlib.contextmanager
def both_locks(path: str, patience: float = PATIENCE) -> Iterator[HeldLocks]:
    """Hold both locks of a file within this block. It blocks, so call it on a thread. Raises Locked, OSError."""
    deadline = time.monotonic() + patience
    while (held := _try(path)) is None:
        if time.monotonic() >= deadline:
            raise Locked(
                f"cannot write {path}: another program has held its lock for {patience:g} s; "
                f"try again, and if no other program uses it, remove {path}.lock"
            )
        time.sleep(random.uniform(*PAUSES))
    try:
        yield held
    finally:
        held.release()


def _try(path: str) -> HeldLocks | None:
    descriptor = _try_flock(os.path.splitext(path)[0] + ".lock")
    if descriptor is None:
        return None
    folder = f"{path}.lock"
    try:
        os.mkdir(folder)
    except FileExistsError:
        _remove_if_stale(folder)
    except BaseException:
        os.close(descriptor)
        raise
    else:
        if (folder_id := _identity(folder)) is not None:
            return HeldLocks(folder, folder_id, descriptor)
    os.close(descriptor)
    return None


def _try_flock(path: str) -> int | None:
    """A locked descriptor. The file stays when the lock is released, as atm leaves it."""
    descriptor = open_regular(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if is_named(descriptor, path):
            return descriptor
    except BlockingIOError:
        pass
    os.close(descriptor)
    return None


def _remove_if_stale(path: str) -> None:
    """Remove a lock that was left by a process that died. Of our own processes, one at a time comes here."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return
    if time.time() - found.st_mtime <= STALE_AFTER:
        return
    if not stat.S_ISDIR(found.st_mode):
        _remove_if_free(path)
        return
    aside = f"{path}.stale-{os.urandom(4).hex()}"
    with contextlib.suppress(FileNotFoundError):
        # Renamed first: if another program has replaced it since we looked, we put its lock back.
        os.rename(path, aside)
        if _identity(aside) == (found.st_dev, found.st_ino):
            os.rmdir(aside)
        else:
            os.rename(aside, path)


def _remove_if_free(path: str) -> None:
    """Remove a lock file of atm 1.0 that no process holds."""
    try:
        descriptor = open_regular(path, os.O_RDWR | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if is_named(descriptor, path):
            os.unlink(path)
    except BlockingIOError:
        pass
    finally:
        os.close(descriptor)


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
