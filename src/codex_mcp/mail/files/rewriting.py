"""Replace a file that other programs write too: draft, fsync, both locks, check, exchange, fsync of the folder.

The draft is written before the locks are taken, so that they are usually held for one read and one exchange. Only if
the file changed in between is the draft written again under the locks. A writer that takes no lock can still overwrite
ours; `outbox` finds that out.
"""

from __future__ import annotations

import contextlib
import logging
import os
import random
import time
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from codex_mcp.base.errors import Explained
from codex_mcp.base.files import PRIVATE, open_regular, sync_folder
from codex_mcp.mail.files.exchange import put_in_place
from codex_mcp.mail.files.locks import PATIENCE, HeldLocks, Locked, both_locks

logger = logging.getLogger(__name__)

LARGEST: Final = 16 * 2**20
"""Bytes of a file that we read. Claude Code stops working well at a sixteenth of it."""

ATTEMPTS: Final = 3
"""Rewrites under one hold of the locks, if a writer without locks interferes. Each takes some milliseconds, and Claude
Code waits only 0.7 s for the lock."""

HEALING: Final = 0.02
"""Seconds that a broken file is given, twice: a writer that does not rename may be in the middle of it."""


class Rewrite(Struct, frozen=True):
    """The new contents. `is_repair`: the old ones are broken and kept beside it."""

    data: bytes
    is_repair: bool = False


Change = Callable[[bytes], Rewrite | None]
"""From the old contents (empty if there is no file) to the new ones; None leaves the file as it is."""


class TooLarge(Explained):
    """The file is larger than we read."""


class _Version(Struct, frozen=True):
    data: bytes = b""
    status: os.stat_result | None = None


class _Prepared(Struct, frozen=True):
    """A version of the file, and what is in the draft to replace it; None if nothing is to do."""

    base: _Version
    new: Rewrite | None
    is_done: bool = False


def contents(path: str) -> bytes:
    """The bytes of a file, none if it does not exist. Raises OSError (also for a link) and TooLarge."""
    return _version(path).data


def rewrite(path: str, draft: str, change: Change, patience: float = PATIENCE) -> bool:
    """Change a file; False if there was nothing to change. The draft is gone afterwards. Raises OSError, Locked.

    It blocks, so call it on a thread.
    """
    deadline = time.monotonic() + patience
    try:
        base = _version(path)
        new = change(base.data)
        if new is not None:
            _write_draft(draft, new.data, base.status)
        while new is not None:
            with both_locks(path, max(0.0, deadline - time.monotonic())) as held:
                attempt = _under_locks(path, draft, change, _Prepared(base, new), held)
            if attempt.is_done:
                sync_folder(os.path.dirname(path))
                return True
            base, new = attempt.base, attempt.new
            if new is not None:
                _wait_for_others(path, deadline)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(draft)
    return False


def _under_locks(path: str, draft: str, change: Change, prepared: _Prepared, held: HeldLocks) -> _Prepared:
    """Replace the file if it is as it was when the draft was made; otherwise make the draft again, a few times."""
    base, new = prepared.base, prepared.new
    for _ in range(ATTEMPTS):
        if new is None:
            break
        has_settled = new.is_repair
        now = _settled(path) if has_settled else _version(path)
        if now.data != base.data:
            new = change(now.data)
            if new is not None:
                _write_draft(draft, new.data, now.status)
        base = now
        if new is None or (new.is_repair and not has_settled):
            continue
        if not held.are_ours():
            break
        if new.is_repair:
            _keep_aside(path)
        if put_in_place(draft, path, now.status):
            return _Prepared(base, new, is_done=True)
    return _Prepared(base, new)


def _wait_for_others(path: str, deadline: float) -> None:
    if time.monotonic() >= deadline:
        raise Locked(
            f"cannot write {path}: another program keeps writing it without taking a lock; stop it, or try again"
        )
    time.sleep(random.uniform(0.01, 0.05))


def _settled(path: str) -> _Version:
    """The file after a moment, if it was being written."""
    version = _version(path)
    for _ in range(2):
        time.sleep(HEALING)
        version, before = _version(path), version
        if version.data != before.data:
            break
    return version


def _version(path: str) -> _Version:
    try:
        descriptor = open_regular(path, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return _Version()
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if status.st_size > LARGEST:
            raise TooLarge(f"cannot read {path}: it has {status.st_size} bytes, more than {LARGEST}; move it away")
        return _Version(file.read(), status)


def _write_draft(draft: str, data: bytes, like: os.stat_result | None) -> None:
    """Write the draft anew, with the owner and permissions of the file that it will replace."""
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, PRIVATE)
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


def _keep_aside(path: str) -> None:
    """Give the broken file a second name. The rename that follows then replaces only the first."""
    aside = f"{path}.corrupt-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{os.urandom(2).hex()}"
    os.link(path, aside, follow_symlinks=False)
    logger.warning("%s is broken: it is kept as %s, and what could be read of it stays", path, aside)
