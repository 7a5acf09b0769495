"""Our own children, found and ended (Linux; elsewhere there are none to see).

Imports next to nothing: the guard of an exec-server runs on this alone, and shall be small.
"""

import os
import signal
from collections.abc import Callable

PROC = "/proc"

ROUNDS = 50
"""Each killed process may hand us its own children; a tree deeper than this is somebody's fork bomb."""


def children() -> set[int]:
    """Return the processes whose parent we are now."""
    ours = str(os.getpid()).encode()
    try:
        return {int(pid) for pid in os.listdir(PROC) if pid.isdecimal() and parent(pid) == ours}
    except OSError:
        return set()


def parent(pid: str) -> bytes:
    """Return the parent's process id; nothing if there is no such process."""
    try:
        with open(f"{PROC}/{pid}/stat", "rb") as stat:
            # "pid (name) state ppid …", where the name may hold anything, brackets too.
            return stat.read().rpartition(b")")[2].split()[1]
    except OSError:
        return b""  # it has ended since


def kill_children(*, but: frozenset[int] = frozenset(), found: Callable[[], set[int]] = children) -> int:
    """End every child that is found, but these, with all below it. Return how many there were."""
    killed: set[int] = set()
    spared = set(but)
    for _ in range(ROUNDS):
        left = found() - spared
        if not left:
            break
        for pid in left:
            (killed if _killed(pid) else spared).add(pid)
    return len(killed)


def _killed(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    except PermissionError:
        return False  # another user's, such as sudo: to wait for its end might be to wait for ever
    except (ProcessLookupError, ChildProcessError):
        return True  # somebody else has buried it
    return True
