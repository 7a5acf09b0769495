"""Locks between the servers of one machine: `flock`, which the kernel releases when its holder dies.

The wait has a time limit: a holder that is stopped (SIGSTOP, a debugger) must not block the other servers, and whoever
may read a file can hold its lock, also an agent in its sandbox. So nothing waits in the kernel, which has no limit.
"""

import contextlib
import fcntl
import time
from collections.abc import Iterator

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
