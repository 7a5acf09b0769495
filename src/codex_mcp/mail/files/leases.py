"""Leases (Linux): programs that open a file wait until we let them, and we learn whether one has it open to write.

Elsewhere, and on file systems without leases, nothing is kept closed. A lease does not hinder a rename.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import time
from typing import Final

from codex_mcp.base.files import is_named

SET_SIGNAL: Final = 10
"""F_SETSIG, which the module fcntl does not name."""

WRITING: Final = 0.3
"""Seconds that a program may take to write a file that it has opened. Claude Code waits 0.7 s for its lock."""

PAUSE: Final = 0.001


class KeptClosed:
    """A draft of ours that other programs cannot open until it is released."""

    def __init__(self, path: str) -> None:
        """Raises OSError."""
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except PermissionError:  # it has the permissions of the file that it replaces
            self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        self._has_lease = _has_lease(self._descriptor, fcntl.F_WRLCK)

    def is_at(self, path: str) -> bool:
        return is_named(self._descriptor, path)

    def contents(self) -> bytes:
        return os.pread(self._descriptor, os.fstat(self._descriptor).st_size, 0)

    def release(self, data: bytes | None = None) -> None:
        """Let those that wait for it read it, or other contents if it is no longer the file that they meant."""
        try:
            if data is not None and self._has_lease:
                os.pwrite(self._descriptor, data, 0)
                os.ftruncate(self._descriptor, len(data))
        finally:
            if self._has_lease:
                # A child that was just forked may share the descriptor: closing ours would not end the lease.
                fcntl.fcntl(self._descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
            os.close(self._descriptor)


def contents_once_written(path: str) -> bytes:
    """The bytes of a file that has no public name any more, when no program has it open to write. Raises OSError."""
    with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW), "rb") as file:
        deadline = time.monotonic() + WRITING
        while _is_being_written(file.fileno()) and time.monotonic() < deadline:
            time.sleep(PAUSE)
        return file.read()


def _is_being_written(descriptor: int) -> bool:
    try:
        _set_lease(descriptor, fcntl.F_RDLCK)
    except BlockingIOError:
        return True
    except OSError:
        return False
    fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    return False


def _has_lease(descriptor: int, kind: int) -> bool:
    try:
        _set_lease(descriptor, kind)
    except OSError:
        return False
    return sys.platform == "linux"


def _set_lease(descriptor: int, kind: int) -> None:
    if sys.platform == "linux":
        # The signal that tells us of a waiting program is one that is ignored; SIGIO would end the process.
        fcntl.fcntl(descriptor, SET_SIGNAL, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, kind)
