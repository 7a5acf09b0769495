"""Locks between the servers of one machine: `flock`, which the kernel releases when its holder dies.

The wait has a time limit: a holder that is stopped (SIGSTOP, a debugger) must not block the other servers, and whoever
may read a file can hold its lock, also an agent in its sandbox. So nothing waits in the kernel, which has no limit.
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator

from codex_mcp.base.files import is_named, open_regular

PAUSE = 0.005
"""Seconds between two attempts. The kernel's own wait has no time limit, and holders need a few milliseconds."""


def take(descriptor: int, patience: float) -> None:
    """Take the lock of an open file. It blocks, so call it on a thread. Raises TimeoutError."""
    deadline = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise TimeoutError(f"another process held the lock for {patience:g} s") from None
            time.sleep(PAUSE)
        else:
            return


@contextlib.contextmanager
def flocked(descriptor: int, patience: float) -> Iterator[None]:
    """Hold the lock of an open file within this block. It blocks, so call it on a thread. Raises TimeoutError."""
    take(descriptor, patience)
    try:
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def lock_file(path: str, patience: float) -> int:
    """Make this file if need be and take its lock, a sign of life: return the descriptor, which holds it until it is
    closed. Whoever removes the file holds its lock. It blocks, so call it on a thread. Raises OSError, TimeoutError.
    """
    while True:
        descriptor = open_regular(path, os.O_RDWR | os.O_CREAT)
        try:
            take(descriptor, patience)
            if is_named(descriptor, path):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # its last holder removed it between our two calls


@contextlib.contextmanager
def locked(path: str, patience: float) -> Iterator[int]:
    """Hold the lock of this file within this block, which gets its descriptor; as `lock_file`."""
    descriptor = lock_file(path, patience)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def is_locked(path: str) -> bool:
    """Whether someone holds the lock of this file. Raises OSError."""
    descriptor = open_regular(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared: two checks must not block each other
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
