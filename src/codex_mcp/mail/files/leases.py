"""Leases (Linux): programs that open a file wait until we let them, and we learn whether one has it open to write.

Elsewhere, and on file systems without leases, nothing is kept closed. A lease does not hinder a rename.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import sys
import time
from typing import Final

from codex_mcp.base.files import is_named, open_regular
from codex_mcp.mail.files.versions import LARGEST, open_version

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
            self._descriptor = open_regular(path, os.O_RDWR | os.O_NOFOLLOW)
        except PermissionError:  # it has the permissions of the file that it replaces
            self._descriptor = open_regular(path, os.O_RDONLY | os.O_NOFOLLOW)
        self._has_lease = False
        with contextlib.suppress(BlockingIOError):  # a program looks into our draft: it has opened it already
            self._has_lease = _take_lease(self._descriptor, fcntl.F_WRLCK)

    def is_at(self, path: str) -> bool:
        return is_named(self._descriptor, path)

    def contents(self) -> bytes:
        return os.pread(self._descriptor, os.fstat(self._descriptor).st_size, 0)

    def release(self, data: bytes | None = None) -> None:
        """Let those that wait for it read it, or other contents if it is no longer the file that they meant."""
        if self._has_lease:
            if data is not None:
                with contextlib.suppress(OSError):  # no space: they read what they would have without this
                    os.pwrite(self._descriptor, data, 0)
                    os.ftruncate(self._descriptor, len(data))
            # A child that was just forked may share the descriptor: closing ours would not end the lease.
            _end_lease(self._descriptor)
        os.close(self._descriptor)


def contents_once_written(path: str) -> bytes:
    """The bytes of a file that has no public name any more, when no program has it open to write. Raises OSError."""
    with open_version(path) as file:
        deadline = time.monotonic() + WRITING
        while _is_being_written(file.fileno()) and time.monotonic() < deadline:
            time.sleep(PAUSE)
        return file.read(LARGEST)


def _is_being_written(descriptor: int) -> bool:
    try:
        has_lease = _take_lease(descriptor, fcntl.F_RDLCK)
    except BlockingIOError:
        return True
    if has_lease:
        _end_lease(descriptor)
    return False


def _take_lease(descriptor: int, kind: int) -> bool:
    """False if there is no such thing here. Raises BlockingIOError if another program has the file open."""
    if sys.platform != "linux":
        return False
    try:
        # The signal that tells us of a waiting program is one that is ignored; SIGIO would end the process.
        fcntl.fcntl(descriptor, SET_SIGNAL, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, kind)
    except BlockingIOError:
        raise
    except OSError:
        return False
    return True


def _end_lease(descriptor: int) -> None:
    if sys.platform == "linux":
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
