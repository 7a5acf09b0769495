"""What /proc says about processes: their ancestors, and which of them hold a socket (Linux).

Everything here may change while it is read. A parent counts only if its child still has it afterwards: a process that
loses its parent gets another one at once, so no process id is followed that has passed to somebody else.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Set as AbstractSet
from typing import Final

from codex_mcp.access.verdicts import Process
from codex_mcp.base.processes.offspring import PROC

DEEPEST: Final = 256
"""Ancestors of a process that are followed. Nothing is known of one with more: agents can fork without end."""

FIRST_NAMESPACES: Final = {"pid": 0xEFFFFFFC, "user": 0xEFFFFFFD}
"""PROC_PID_INIT_INO and PROC_USER_INIT_INO of linux/proc_ns.h."""

TRIES: Final = 20
"""For a process whose ancestors end while they are read."""


def process(pid: int) -> Process | None:
    """None if there is no such process, or if we may not see it."""
    try:
        with open(f"{PROC}/{pid}/stat", "rb") as file:
            text = file.read()
    except OSError:
        return None
    name, _, rest = text.rpartition(b")")
    fields = rest.split()
    return Process(pid, int(fields[1]), name.partition(b"(")[2].decode(errors="replace"), int(fields[19]))


def lineage(pid: int, stop_at: frozenset[int] = frozenset()) -> list[Process] | None:
    """A process and its ancestors, up to the first in `stop_at`. None if it has ended, changes all the time, or has
    too many of them."""
    for _ in range(TRIES):
        found = process(pid)
        if found is None:
            return None
        chain = [found]
        while chain[-1].pid not in stop_at and chain[-1].parent > 0:
            if len(chain) == DEEPEST:
                return None
            child = chain[-1]
            parent = process(child.parent)
            now = process(child.pid)
            if now is None or now.parent != child.parent or now.started != child.started:
                break  # it has ended, or has another parent by now
            if parent is None:
                return chain  # hidden from us
            chain.append(parent)
        else:
            return chain
    return None


def processes() -> list[int]:
    """All that we can see, the newest first."""
    with contextlib.suppress(OSError):
        return sorted((int(name) for name in os.listdir(PROC) if name.isdecimal()), reverse=True)
    return []


def held(pid: int, inodes: AbstractSet[int]) -> set[int]:
    """Which of these sockets a process has open. Raises PermissionError if we may not know."""
    return _held(f"{PROC}/{pid}/fd", inodes)


def held_by_threads(pid: int, inodes: AbstractSet[int]) -> set[int]:
    """The same for all of its threads: one can have files of its own. Raises PermissionError."""
    try:
        threads = os.listdir(f"{PROC}/{pid}/task")
    except OSError:
        return set()  # it has ended
    return set().union(*(_held(f"{PROC}/{pid}/task/{thread}/fd", inodes) for thread in threads))


def _held(folder: str, inodes: AbstractSet[int]) -> set[int]:
    try:
        names = os.listdir(folder)
    except PermissionError:
        raise
    except OSError:
        return set()  # it has ended
    wanted = {f"socket:[{inode}]": inode for inode in inodes}
    found = set()
    for name in reversed(names):  # a new connection is among the last
        with contextlib.suppress(OSError, KeyError):
            found.add(wanted[os.readlink(f"{folder}/{name}")])
            if len(found) == len(wanted):
                break
    return found


def process_status(pid: int) -> dict[str, str]:
    """The lines of its `status`; empty if it has ended."""
    with contextlib.suppress(OSError), open(f"{PROC}/{pid}/status", errors="replace") as lines:
        return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return {}


def users(pid: int) -> set[int]:
    """The user ids of a process: real, effective, saved, and for files."""
    return {int(word) for word in process_status(pid).get("Uid", "").split()}


def is_confined(pid: int) -> bool:
    """Whether it runs in a sandbox: Codex's takes away the right to gain any, for the process and all its children."""
    return process_status(pid).get("NoNewPrivs") == "1"


def shares_network(pid: int) -> bool:
    """Whether it is in our network namespace, as far as we can see."""
    return _shares(pid, "net")


def has_other_namespaces(pid: int) -> bool:
    """Whether it is known to live in another namespace of processes or users than we do, as sandboxed commands do."""
    return not (_shares(pid, "pid") and _shares(pid, "user"))


def sees_all() -> bool:
    """Whether we are in the machine's first namespaces of processes and users, so that no process is out of sight."""
    with contextlib.suppress(OSError):
        return all(
            os.readlink(f"{PROC}/self/ns/{kind}") == f"{kind}:[{first}]" for kind, first in FIRST_NAMESPACES.items()
        )
    return False


def _shares(pid: int, kind: str) -> bool:
    with contextlib.suppress(OSError):
        return os.readlink(f"{PROC}/{pid}/ns/{kind}") == os.readlink(f"{PROC}/self/ns/{kind}")
    return True
