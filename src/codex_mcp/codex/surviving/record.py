"""Pure. Which core a server has left behind, and whether what listens there now is that core.

Everything that is recorded must be seen again. A process id alone says nothing: it may be another process by now, and
somebody else may listen where the core did.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct


class CoreRecord(Struct, frozen=True):
    boot: str
    """Which start of the machine the other fields are about."""
    pid: int
    started: int
    """When the process began, in ticks since that start."""
    mark: str
    """In its environment, and in that of its commands."""
    uid: int
    version: str
    socket: str
    since: float
    """When it was started, in seconds since 1970."""


class Seen(Struct, frozen=True):
    """What can be seen of the recorded process, once a descriptor keeps its id from being used again."""

    boot: str
    started: int | None
    """None if there is no such process."""
    mark: str
    uid: int
    """Ours."""
    peer: tuple[int, int]
    """Process and user who listen on its socket, as the kernel says."""
    is_alive: bool
    """After all of that was looked at."""


def why_other(record: CoreRecord, seen: Seen) -> str:
    """Why this is not the recorded core; empty if it is."""
    if not record.boot or record.boot != seen.boot:
        return "the machine was started again since then"
    if record.uid != seen.uid:
        return f"it belongs to user {record.uid}"
    if seen.started is None or record.started != seen.started:
        return f"process {record.pid} is another one by now"
    if not record.mark or record.mark != seen.mark:
        return f"process {record.pid} does not have its mark"
    if seen.peer != (record.pid, record.uid):
        return f"process {seen.peer[0]} of user {seen.peer[1]} listens on its socket"
    return "" if seen.is_alive else f"process {record.pid} has ended"


def encoded(record: CoreRecord) -> bytes:
    return msgspec.json.encode(record)


def decoded(data: bytes) -> CoreRecord | None:
    """None if these bytes are no record, which may be damaged or of a later release."""
    try:
        return msgspec.json.decode(data, type=CoreRecord)
    except msgspec.MsgspecError:
        return None
