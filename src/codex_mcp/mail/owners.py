"""Which server process made an entry of a team, and whether it still runs."""

from __future__ import annotations

import os

from codex_mcp.base.processes.offspring import PROC
from codex_mcp.mail.registration import Owner


def this_process() -> Owner:
    return owner_of(os.getpid())


def owner_of(pid: int) -> Owner:
    return Owner(pid, _start(pid) or "", _space())


def has_ended(owner: Owner) -> bool:
    """Whether it certainly does not run any longer. Of another machine or namespace, that is never certain."""
    return owner.pid_space == _space() and (_start(owner.pid) or "") != owner.proc_start


def _start(pid: int) -> str | None:
    """When the kernel started a process; None if there is none, or on a system without /proc."""
    try:
        with open(f"{PROC}/{pid}/stat", "rb") as file:
            state, *fields = file.read().rpartition(b") ")[2].split()
    except (OSError, ValueError):
        return None
    return None if state in (b"Z", b"X") else fields[18].decode()


def _space() -> str:
    try:
        namespace = os.readlink(f"{PROC}/self/ns/pid")
    except OSError:
        namespace = ""
    return f"{os.uname().nodename}#{namespace}"
