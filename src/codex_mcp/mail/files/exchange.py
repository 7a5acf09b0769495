"""Put a draft in the place of a file, and look at what was there: another program may have written in the last moment.

Linux and macOS can exchange two files in one step; `placing` says what follows. Where the file system cannot, the draft
is renamed over the file, and a write in the microseconds since the last look is lost.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Callable, Generator
from typing import Final

from msgspec import Struct

from codex_mcp.mail.files.leases import KeptClosed, contents_once_written
from codex_mcp.mail.files.placing import placing
from codex_mcp.mail.files.versions import TooLarge, Version, contents, write_draft

AT_FDCWD: Final = -100
RENAME_EXCHANGE: Final = 2
"""Also the value of RENAME_SWAP on macOS."""

VERSION: Final = ("st_dev", "st_ino", "st_size", "st_mtime_ns")
"""What changes with a version of a file. The time of its last change of name is not among them."""

SPARE: Final = ".again"
"""The suffix of a second draft: the first one then holds what was displaced."""

CANNOT: Final = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM})


class Replacement(Struct, frozen=True):
    """What is put in the place of a file: a draft with these contents, made from that version of the file.

    `again` makes the contents from a version that came in between; that version is at the path it is given.
    """

    draft: str
    path: str
    new: bytes
    base: Version
    again: Callable[[bytes, str], bytes]


def put_in_place(replacement: Replacement) -> bool:
    """Replace the file if it is the expected one, or create it if there is to be none. False: it has changed.

    The draft is gone if the file was replaced. Raises OSError.
    """
    draft, path, base = replacement.draft, replacement.path, replacement.base
    if base.status is None:
        return _create(draft, path)
    if not _is_same(path, base.status):
        return False
    ours = [KeptClosed(draft)]
    try:
        if _exchange(draft, path):
            return _checked(replacement, base.status, ours)
        os.rename(draft, path)
    except FileNotFoundError:  # another program has removed it
        return False
    finally:
        _release(ours, path)
    return True


def _checked(replacement: Replacement, status: os.stat_result, ours: list[KeptClosed]) -> bool:
    """Look at what the draft has displaced, and go on until all of it is in the file."""
    draft, path, spare = replacement.draft, replacement.path, replacement.draft + SPARE
    steps = placing(replacement.new, replacement.base.data, lambda data: replacement.again(data, draft))
    next(steps)
    try:
        new = _next(steps, contents_once_written(draft))
        while isinstance(new, bytes):
            write_draft(spare, new, status)
            ours.append(KeptClosed(spare))
            _exchange(spare, path)
            displaced = _contents(spare, ours)
            os.rename(spare, draft)
            new = _next(steps, displaced)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            _exchange(draft, path)  # what another program wrote is not in ours yet: it goes back
        raise
    os.unlink(draft)
    return new


def _contents(displaced: str, ours: list[KeptClosed]) -> bytes:
    for one in ours:
        if one.is_at(displaced):
            return one.contents()  # opening it would wait for us
    return contents_once_written(displaced)


def _next(steps: Generator[bytes, bytes, bool], displaced: bytes) -> bytes | bool:
    """The next version, or the result."""
    try:
        return steps.send(displaced)
    except StopIteration as stop:
        return bool(stop.value)


def _release(ours: list[KeptClosed], path: str) -> None:
    """Let other programs open our versions. If one is displaced by now, they find what is in the file instead."""
    here = [one for one in ours if one.is_at(path)]
    for one in here:
        one.release()
    data: bytes | None = None
    if len(ours) > 1:
        with contextlib.suppress(OSError, TooLarge):
            data = contents(path)
    for one in ours:
        if one not in here:
            one.release(data)


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
