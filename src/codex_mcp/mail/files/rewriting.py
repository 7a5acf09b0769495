"""Replace a file that other programs write too: draft, fsync, both locks, check, exchange, fsync of the folder.

The draft is written before the locks are taken, so that they are usually held for one read and one exchange. Only if
the file changed in between is the draft written again under the locks. That there is nothing to change is decided under
the locks too: a program that holds them may just be writing the file, which is empty or cut meanwhile. A writer that
takes no lock can still overwrite ours; `outbox` finds that out. Ours never replaces what it does not contain: see
`placing`.
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

from codex_mcp.base.files import sync_folder
from codex_mcp.mail.files.exchange import Replacement, put_in_place
from codex_mcp.mail.files.locks import PATIENCE, HeldLocks, Locked, both_locks
from codex_mcp.mail.files.versions import Version, version_of, write_draft

logger = logging.getLogger(__name__)

ATTEMPTS: Final = 3
"""Rewrites under one hold of the locks, if a writer without locks interferes. Each takes some milliseconds, and Claude
Code waits only 0.7 s for the lock."""

HEALING: Final = 0.02
"""Seconds that a broken file is given, twice: a writer that does not rename may be in the middle of it."""


READING: Final = 2.0
"""Seconds that a reader waits for a program that holds a lock and has cut the file. Programs write for milliseconds."""


class Rewrite(Struct, frozen=True):
    """The new contents. `is_repair`: the old ones are broken and kept beside it."""

    data: bytes
    is_repair: bool = False


Change = Callable[[bytes], Rewrite | None]
"""From the old contents (empty if there is no file) to the new ones; None leaves the file as it is."""


class _Prepared(Struct, frozen=True):
    """A version of the file, and what is in the draft to replace it; None if nothing is to do.

    Without a version the draft is no longer what it was.
    """

    base: Version | None
    new: Rewrite | None
    is_done: bool = False


def rewrite(path: str, draft: str, change: Change, patience: float = PATIENCE) -> bool:
    """Change a file; False if there was nothing to change. The draft is gone afterwards. Raises OSError, Locked.

    It blocks, so call it on a thread.
    """
    deadline = time.monotonic() + patience
    try:
        first = version_of(path)
        new = change(first.data)
        if new is None and first.status is None:
            return False
        if new is not None:
            write_draft(draft, new.data, first.status)
        attempt = _Prepared(first, new)
        while True:
            with both_locks(path, max(0.0, deadline - time.monotonic())) as held:
                attempt = _under_locks(path, draft, change, attempt, held)
            if attempt.is_done:
                break
            _wait_for_others(path, deadline)
        if attempt.new is not None:
            sync_folder(os.path.dirname(path))
        return attempt.new is not None
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(draft)


def read_whole(path: str) -> bytes:
    """The bytes of a file, none if there is no file. One that is being written is waited for. Raises OSError, TooLarge.

    It blocks, so call it on a thread.
    """
    version = version_of(path)
    if _is_whole(version):
        return version.data
    try:
        with both_locks(path, READING):
            return _settled(path).data
    except Locked:
        return version.data


def _under_locks(path: str, draft: str, change: Change, prepared: _Prepared, held: HeldLocks) -> _Prepared:
    """Replace the file if it is as it was when the draft was made; otherwise make the draft again, a few times."""
    base, new = prepared.base, prepared.new
    for _ in range(ATTEMPTS):
        now = version_of(path)
        has_settled = (new is not None and new.is_repair) or not _is_whole(now)
        if has_settled:
            now = _settled(path)
        if base is None or now.data != base.data:
            new = change(now.data)
            if new is not None:
                write_draft(draft, new.data, now.status)
        base = now
        if new is None:
            return _Prepared(base, None, is_done=True)
        if new.is_repair and not has_settled:
            continue
        if not held.are_ours():
            break
        if new.is_repair:
            _keep_aside(path, path)
        if put_in_place(Replacement(draft, path, new.data, now, _again(path, change))):
            return _Prepared(base, new, is_done=True)
        base = None
    return _Prepared(base, new)


def _again(path: str, change: Change) -> Callable[[bytes, str], bytes]:
    """The change of a version that came in between."""

    def changed(data: bytes, place: str) -> bytes:
        new = change(data)
        if new is not None and new.is_repair:
            _keep_aside(place, path)
        return data if new is None else new.data

    return changed


def _wait_for_others(path: str, deadline: float) -> None:
    if time.monotonic() >= deadline:
        raise Locked(
            f"cannot write {path}: another program keeps writing it without taking a lock; stop it, or try again"
        )
    time.sleep(random.uniform(0.01, 0.05))


def _settled(path: str) -> Version:
    """The file after a moment, if it was being written."""
    version = version_of(path)
    for _ in range(2):
        time.sleep(HEALING)
        version, before = version_of(path), version
        if version.data != before.data:
            break
    return version


def _is_whole(version: Version) -> bool:
    """Whether a file of JSON ends as one. A program that writes without a rename leaves it empty or cut for a while."""
    data = version.data.strip()
    return version.status is None or (data[:1] + data[-1:]) in (b"[]", b"{}")


def _keep_aside(broken: str, path: str) -> None:
    """Give the broken file a second name. The exchange that follows then displaces only the first."""
    aside = f"{path}.corrupt-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{os.urandom(2).hex()}"
    os.link(broken, aside, follow_symlinks=False)
    logger.warning("%s is broken: it is kept as %s, and what could be read of it stays", path, aside)
