"""Put a draft in the place of a file, and look at what was there: another program may have written in the last moment.

Linux and macOS can exchange two files in one step. Where the file system cannot, the draft is renamed over the file,
and a write in the microseconds since the last look is lost.
"""

from __future__ import annotations

import errno
import os
import sys
from typing import Final

AT_FDCWD: Final = -100
RENAME_EXCHANGE: Final = 2
"""Also the value of RENAME_SWAP on macOS."""

VERSION: Final = ("st_dev", "st_ino", "st_size", "st_mtime_ns")
"""What changes with a version of a file. The time of its last change of name is not among them."""

CANNOT: Final = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM})


def put_in_place(draft: str, path: str, expected: os.stat_result | None) -> bool:
    """Replace the file if it is the expected one, or create it if there is to be none. False: it has changed.

    The draft is gone if the file was replaced. Raises OSError.
    """
    if expected is None:
        return _create(draft, path)
    if not _is_same(path, expected):
        return False
    if not _exchange(draft, path):
        os.rename(draft, path)
        return True
    if _is_same(draft, expected):
        os.unlink(draft)
        return True
    _exchange(draft, path)  # another program wrote since we looked: its version goes back at once
    return False


def _is_same(path: str, expected: os.stat_result) -> bool:
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return False
    return all(getattr(found, name) == getattr(expected, name) for name in VERSION)


def _create(draft: str, path: str) -> bool:
    """Unlike a rename, a link replaces nothing."""
    try:
        os.link(draft, path)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in CANNOT:
            raise
        os.rename(draft, path)
        return True
    os.unlink(draft)
    return True


def _exchange(one: str, other: str) -> bool:
    """Exchange two files; False if this system or file system cannot do it."""
    import ctypes  # noqa: PLC0415  only a program that writes mail pays for it

    libc = ctypes.CDLL(None, use_errno=True)
    paths = os.fsencode(one), os.fsencode(other)
    try:
        if sys.platform == "darwin":
            failed = libc.renamex_np(*paths, RENAME_EXCHANGE)
        else:
            failed = libc.renameat2(AT_FDCWD, paths[0], AT_FDCWD, paths[1], RENAME_EXCHANGE)
    except AttributeError:  # an old C library
        return False
    if not failed:
        return True
    number = ctypes.get_errno()
    if number in CANNOT:
        return False
    raise OSError(number, os.strerror(number), other)
