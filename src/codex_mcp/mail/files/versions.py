"""One version of a file: read whole, or written as a draft beside the file."""

from __future__ import annotations

import contextlib
import os
import time
from typing import BinaryIO, Final

from msgspec import Struct

from codex_mcp.base.errors import Explained
from codex_mcp.base.files import open_regular, opened

LARGEST: Final = 16 * 2**20
"""Bytes of a file that we read. Claude Code stops working well at a sixteenth of it."""

OPENING: Final = 5.0
"""Seconds that we wait for a process of ours that keeps a file closed: far longer than it does."""


class TooLarge(Explained):
    """The file is larger than we read."""


class Version(Struct, frozen=True):
    """Without a status there is no file."""

    data: bytes = b""
    status: os.stat_result | None = None


def contents(path: str) -> bytes:
    """The bytes of a file, none if it does not exist. Raises OSError (also for a link) and TooLarge."""
    return version_of(path).data


def version_of(path: str) -> Version:
    try:
        opening = open_version(path)
    except FileNotFoundError:
        return Version()
    with opening as file:
        status = os.fstat(file.fileno())
        if status.st_size > LARGEST:
            raise TooLarge(f"cannot read {path}: it has {status.st_size} bytes, more than {LARGEST}; move it away")
        return Version(file.read(LARGEST), status)


def open_version(path: str) -> BinaryIO:
    """The file, once no writer of ours keeps it closed. Raises OSError, also for a link."""
    deadline = time.monotonic() + OPENING
    while True:
        try:
            return opened(path, links=False)
        except BlockingIOError:  # a lease: another writer of ours is in the middle of an exchange
            if time.monotonic() >= deadline:
                raise
            time.sleep(0.001)


def write_draft(draft: str, data: bytes, like: os.stat_result | None) -> None:
    """Write the draft anew, with the owner and permissions of the file that it will replace."""
    descriptor = open_regular(draft, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW)
    try:
        os.ftruncate(descriptor, 0)
        if like is not None:
            os.fchmod(descriptor, like.st_mode & 0o777)
            with contextlib.suppress(PermissionError):
                os.fchown(descriptor, like.st_uid, like.st_gid)
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
