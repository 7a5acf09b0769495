"""Processes that lost their parent: on Linux we ask to become their parent, so that none of them outlives us.

Codex puts each command into a session of its own. When Codex is killed, they would live on unseen; as the "subreaper"
of our descendants we inherit them, and end them. Elsewhere these functions find nothing, and a command may outlive a
killed core.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import signal
from collections.abc import Collection
from typing import Final

logger = logging.getLogger(__name__)

PR_SET_CHILD_SUBREAPER: Final = 36
"""From linux/prctl.h."""

PROC: Final = "/proc"

ROUNDS: Final = 50
"""Each killed process may hand us its own children; a tree deeper than this is somebody's fork bomb."""


def adopt_orphans() -> bool:
    """Become the parent of every descendant that loses its own. To be called once, by the program."""
    with contextlib.suppress(OSError, AttributeError):
        return bool(ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
    return False


def children() -> set[int]:
    """Return the processes whose parent we are now (Linux)."""
    ours = str(os.getpid()).encode()
    found: set[int] = set()
    with contextlib.suppress(OSError):
        for pid in filter(str.isdecimal, os.listdir(PROC)):
            if _parent(pid) == ours:
                found.add(int(pid))
    return found


def _parent(pid: str) -> bytes:
    try:
        with open(f"{PROC}/{pid}/stat", "rb") as stat:
            # "pid (name) state ppid …", where the name may hold anything, brackets too.
            return stat.read().rpartition(b")")[2].split()[1]
    except OSError:
        return b""  # it has ended since


def kill_orphans(ours: Collection[int]) -> int:
    """End every child that is none of `ours`, with all below it. Return how many there were."""
    killed: set[int] = set()
    spared: set[int] = set()
    for _ in range(ROUNDS):
        orphans = children().difference(ours, spared)
        if not orphans:
            break
        for pid in orphans:
            (killed if _killed(pid) else spared).add(pid)
    if killed:
        logger.info("ended %d processes that commands had left behind", len(killed))
    return len(killed)


def _killed(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except PermissionError:
        return False  # another user's, such as sudo: to wait for its end might be to wait for ever
    except ProcessLookupError:
        return True
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)
    return True


def reap_orphans(ours: Collection[int]) -> None:
    """Bury inherited children that have ended by themselves; leave the living alone."""
    for pid in children().difference(ours):
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
