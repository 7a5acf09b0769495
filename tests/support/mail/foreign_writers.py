"""Writers of an inbox as other programs do it: Claude Code, atm up to 0.46, and programs that take no lock.

Each appends its messages to a file. It remembers the ids of those of which it believes that they were sent, and every
version of the file that it has read.
"""

import contextlib
import ctypes
import fcntl
import hashlib
import json
import os
import random
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

LINUX_AT_FDCWD = -100
RENAME_EXCHANGE = 2

LONGEST_PAUSE = 0.02
"""Seconds between two messages. Without it these writers are done before ours has begun."""

Writer = Callable[[Path, str, "Seen"], None]


class Seen:
    """The versions that a writer has read."""

    def __init__(self) -> None:
        self.digests: list[str] = []

    def read(self, path: Path) -> bytes:
        data = path.read_bytes()
        self.digests.append(digest(data))
        return data


def digest(data: bytes) -> str:
    """A name for a version of a file."""
    return hashlib.sha256(data).hexdigest()


def claude(inbox: Path, message_id: str, seen: Seen) -> None:
    """Claude Code 2.1.325: a lock folder, eleven tries in 0.7 s; a new file is renamed over the old one."""
    with _lock_folder(inbox):
        _rename_over(inbox, [*_read(inbox, seen), _native(message_id)])


def early_claude(inbox: Path, message_id: str, seen: Seen) -> None:
    """The same lock, but the file is written in place."""
    with _lock_folder(inbox):
        inbox.write_text(json.dumps([*_read(inbox, seen), _native(message_id)], indent=2))


@contextlib.contextmanager
def _lock_folder(inbox: Path) -> Iterator[None]:
    lock = Path(f"{inbox}.lock")
    while not _made(lock):
        pass  # Claude Code reports an error then, and its user sends again
    try:
        yield
    finally:
        lock.rmdir()


def _made(lock: Path) -> bool:
    for number in range(11):
        try:
            lock.mkdir()
        except FileExistsError:
            time.sleep(random.uniform(0.5, 1.5) * 0.005 * 1.4**number)
        else:
            return True
    return False


def atm(inbox: Path, message_id: str, seen: Seen) -> None:
    """atm up to 0.46: a flock on another file; the files are exchanged, and what was displaced is merged once."""
    draft = inbox.with_suffix(".tmp")
    with inbox.with_suffix(".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        before = seen.read(inbox) if inbox.exists() else b""
        records = [*(json.loads(before) if before else []), _legacy(message_id)]
        _write(draft, records)
        if not before:
            draft.rename(inbox)
            return
        _exchange(draft, inbox)
        displaced = seen.read(draft)
        if displaced != before:
            known = {json.dumps(record, sort_keys=True) for record in records}
            missing = [one for one in json.loads(displaced) if json.dumps(one, sort_keys=True) not in known]
            _write(draft, [*records, *missing])
            _exchange(draft, inbox)
        draft.unlink()


def atm_clone(inbox: Path, message_id: str, seen: Seen) -> None:
    """A program with atm's lock that renames its file over the old one."""
    with inbox.with_suffix(".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _rename_over(inbox, [*_read(inbox, seen), _legacy(message_id)])


def lockless(inbox: Path, message_id: str, seen: Seen) -> None:
    """A program that knows of no lock."""
    _rename_over(inbox, [*_read(inbox, seen), _native(message_id)])


WRITERS: dict[str, Writer] = {
    "claude": claude,
    "early-claude": early_claude,
    "atm": atm,
    "atm-clone": atm_clone,
    "lockless": lockless,
}


def write_messages(kind: str, inbox: Path, count: int) -> tuple[list[str], list[str]]:
    """Send so many messages, about as fast as we do. Returns their ids, and the versions of the file that were read."""
    seen = Seen()
    ids = [f"{kind}-{os.getpid()}-{number}" for number in range(count)]
    for message_id in ids:
        time.sleep(random.uniform(0, LONGEST_PAUSE))
        WRITERS[kind](inbox, message_id, seen)
    return ids, seen.digests


def _native(message_id: str) -> dict[str, object]:
    return {"from": "c", "text": message_id, "msgV": 1, "msg_id": message_id, "type": "message", "read": False}


def _legacy(message_id: str) -> dict[str, object]:
    return {"from": "a", "text": message_id, "message_id": message_id, "read": False}


def _read(inbox: Path, seen: Seen) -> list[Any]:
    while True:
        try:
            found: list[Any] = json.loads(seen.read(inbox))
        except FileNotFoundError:
            return []
        except ValueError:
            continue  # atm empties a file that we have just opened and it has displaced
        return found


def _write(path: Path, records: list[Any]) -> None:
    with path.open("w") as file:
        json.dump(records, file, indent=2)
        file.flush()
        os.fsync(file.fileno())


def _rename_over(inbox: Path, records: list[Any]) -> None:
    draft = Path(f"{inbox}.tmp.{uuid.uuid4().hex[:8]}")
    draft.write_text(json.dumps(records, indent=2))
    draft.rename(inbox)


def _exchange(one: Path, other: Path) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    paths = (os.fsencode(one), LINUX_AT_FDCWD, os.fsencode(other))
    if libc.renameat2(LINUX_AT_FDCWD, *paths, RENAME_EXCHANGE):
        raise OSError(ctypes.get_errno(), "renameat2")
