"""Writers of an inbox as other programs do it: Claude Code, atm up to 0.46, and programs that take no lock.

Each appends its messages to a file and returns the ids of those of which it believes that they were sent.
"""

import ctypes
import fcntl
import json
import os
import random
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

LINUX_AT_FDCWD = -100
RENAME_EXCHANGE = 2

Writer = Callable[[Path, str], None]


def claude(inbox: Path, message_id: str) -> None:
    """Claude Code 2.1.325: a lock folder, eleven tries in 0.7 s; a new file is renamed over the old one."""
    lock = Path(f"{inbox}.lock")
    while not _made(lock):
        pass  # Claude Code reports an error then, and its user sends again
    try:
        _rename_over(inbox, [*_read(inbox), _native(message_id)])
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


def atm(inbox: Path, message_id: str) -> None:
    """atm up to 0.46: a flock on another file; the files are exchanged, and what was displaced is merged once."""
    draft = inbox.with_suffix(".tmp")
    with inbox.with_suffix(".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        before = inbox.read_bytes() if inbox.exists() else b""
        records = [*(json.loads(before) if before else []), _legacy(message_id)]
        _write(draft, records)
        if not before:
            draft.rename(inbox)
            return
        _exchange(draft, inbox)
        displaced = draft.read_bytes()
        if displaced != before:
            known = {json.dumps(record, sort_keys=True) for record in records}
            missing = [one for one in json.loads(displaced) if json.dumps(one, sort_keys=True) not in known]
            _write(draft, [*records, *missing])
            _exchange(draft, inbox)
        draft.unlink()


def lockless(inbox: Path, message_id: str) -> None:
    """A program that knows of no lock."""
    _rename_over(inbox, [*_read(inbox), _native(message_id)])


WRITERS: dict[str, Writer] = {"claude": claude, "atm": atm, "lockless": lockless}


def write_messages(kind: str, inbox: Path, count: int) -> list[str]:
    """Send so many messages as fast as possible."""
    ids = [f"{kind}-{os.getpid()}-{number}" for number in range(count)]
    for message_id in ids:
        WRITERS[kind](inbox, message_id)
    return ids


def _native(message_id: str) -> dict[str, object]:
    return {"from": "c", "text": message_id, "msgV": 1, "msg_id": message_id, "type": "message", "read": False}


def _legacy(message_id: str) -> dict[str, object]:
    return {"from": "a", "text": message_id, "message_id": message_id, "read": False}


def _read(inbox: Path) -> list[Any]:
    while True:
        try:
            found: list[Any] = json.loads(inbox.read_bytes())
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
