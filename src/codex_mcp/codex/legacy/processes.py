"""Ends the commands of a thread whose Codex cannot be asked to: an old one leaves them running after an interrupt.

It writes the thread's id into the environment of every command, where Linux lets us read it. Elsewhere none is found.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
from typing import Final

from codex_mcp.base.processes.marks import environment

logger = logging.getLogger(__name__)

PROC: Final = "/proc"

MARK: Final = "CODEX_THREAD_ID"

ROUNDS: Final = 20
"""A command may start others while it is being killed; one that is faster than this is a fork bomb."""


def kill_commands(thread_id: str) -> int:
    """Kill every process that was started for this thread. Return how many there were."""
    killed: set[int] = set()
    for _ in range(ROUNDS):
        found = commands_of(thread_id) - killed
        if not found:
            break
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        killed |= found
    if killed:
        logger.info("killed %d processes of a turn that was interrupted", len(killed))
    return len(killed)


def commands_of(thread_id: str) -> set[int]:
    """The processes that were started for this thread."""
    mark = f"{MARK}={thread_id}".encode()
    with contextlib.suppress(OSError):
        return {int(pid) for pid in filter(str.isdecimal, os.listdir(PROC)) if mark in environment(pid).split(b"\0")}
    return set()
