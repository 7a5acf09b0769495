"""Finds and ends our own children (Linux; elsewhere it finds none).

It imports almost nothing, because the guard of an exec-server uses it and must stay small.
"""

import os
import signal
from _thread import allocate_lock
from collections.abc import Callable

PROC = "/proc"

ROUNDS = 50
"""A killed process may leave us its own children; a tree deeper than this is a fork bomb."""


_starting = allocate_lock()
_awaited: set[int] = set()


class AwaitedChild:
    """Around the start of a child that its starter awaits: `children` does not find it. Call the result with its id.

    Once the child has been awaited, `no_longer_awaited` must be called.
    """

    def __enter__(self) -> Callable[[int], None]:
        _starting.acquire()
        return _awaited.add

    def __exit__(self, *_: object) -> None:
        _starting.release()


def no_longer_awaited(pid: int) -> None:
    with _starting:
        _awaited.discard(pid)


def children() -> set[int]:
    """Our children, without those whose start had an `AwaitedChild` around it."""
    ours = str(os.getpid()).encode()
    with _starting:
        try:
            found = {int(pid) for pid in os.listdir(PROC) if pid.isdecimal() and parent(pid) == ours}
        except OSError:
            return set()
        return found - _awaited


def parent(pid: str) -> bytes:
    """The parent's process id; empty if there is no such process."""
    return fields(pid)[1]


def fields(pid: str) -> list[bytes]:
    """What the kernel says of a process, from its state and its parent on; two empty ones if there is none."""
    try:
        with open(f"{PROC}/{pid}/stat", "rb") as stat:
            # "pid (name) state ppid …", where the name may contain any character, even brackets.
            return stat.read().rpartition(b")")[2].split()
    except OSError:
        return [b"", b""]  # it has ended in the meantime


def kill_children(*, but: frozenset[int] = frozenset(), found: Callable[[], set[int]] = children) -> int:
    """End every child found except these, with all its descendants. Return how many there were."""
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
        return False  # another user's, such as sudo: it might never end
    except (ProcessLookupError, ChildProcessError):
        return True  # it was already reaped
    return True
