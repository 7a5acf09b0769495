"""A node's sign of life: a lock on its own file, which the kernel frees when the process ends in any way.

A free lock proves that the process is dead. A held lock proves nothing: a process that hangs holds it as well.
"""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING, Final

from codex_mcp.base.files import make_private_folder
from codex_mcp.base.locks import is_locked, lock_file, locked

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER: Final = "nodes"
SUFFIX: Final = ".lock"
SOCKET: Final = ".sock"
OPENING: Final = "opening.lock"

OPENING_PATIENCE: Final = 10.0
"""Seconds that others may take to open the database, or to look at a lock: milliseconds, unless they are stopped."""


class NodeLock:
    def __init__(self, state_dir: str, node_id: str) -> None:
        make_private_folder(os.path.join(state_dir, FOLDER))
        self._path = lock_path(state_dir, node_id)
        # only a check by another process has it, for a moment
        self._descriptor: int | None = lock_file(self._path, OPENING_PATIENCE)

    def give_up(self) -> None:
        """Free the lock and remove the file. Calling it again is fine."""
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                os.unlink(self._path)
            self.drop()

    def drop(self) -> None:
        """Free the lock and leave the file, as the kernel does for a process that was killed."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def has_died(state_dir: str, node_id: str) -> bool:
    try:
        return not is_locked(lock_path(state_dir, node_id))
    except FileNotFoundError:
        return True


def seconds_since_joining(state_dir: str, node_id: str) -> float:
    """For how long this node has had its lock; 0 if it has none any more."""
    try:
        return abs(time.time() - os.stat(lock_path(state_dir, node_id)).st_mtime)
    except OSError:
        return 0.0


def nodes_with_locks(state_dir: str) -> list[str]:
    """The ids of all nodes that have a lock file, alive or not."""
    return _named(state_dir, SUFFIX)


def socket_path(state_dir: str, node_id: str) -> str:
    """Where a node listens, if it does. Only its lock says whether it is alive."""
    return os.path.join(state_dir, FOLDER, node_id + SOCKET)


def remove_dead_locks(state_dir: str, known: frozenset[str]) -> None:
    """Remove the files of dead nodes: sockets, and locks that are not in the database. A starting node creates its
    lock again."""
    for node_id in nodes_with_locks(state_dir):
        if node_id not in known and has_died(state_dir, node_id):
            with contextlib.suppress(OSError):
                os.unlink(lock_path(state_dir, node_id))
    for node_id in _named(state_dir, SOCKET):
        if has_died(state_dir, node_id):
            with contextlib.suppress(OSError):
                os.unlink(socket_path(state_dir, node_id))


@contextlib.contextmanager
def alone_while_opening(state_dir: str) -> Iterator[None]:
    """Servers open the database one after the other. TimeoutError if another one does not finish."""
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(locked(os.path.join(state_dir, OPENING), OPENING_PATIENCE))
        except TimeoutError:
            raise TimeoutError("another server has been opening it for too long") from None
        yield


def _named(state_dir: str, suffix: str) -> list[str]:
    try:
        names = os.listdir(os.path.join(state_dir, FOLDER))
    except FileNotFoundError:
        return []
    return sorted(name.removesuffix(suffix) for name in names if name.endswith(suffix))


def lock_path(state_dir: str, node_id: str) -> str:
    return os.path.join(state_dir, FOLDER, node_id + SUFFIX)
