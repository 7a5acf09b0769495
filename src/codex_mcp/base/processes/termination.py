"""Ends processes that are recognised by what /proc says about them, anywhere in the process tree (Linux).

A pidfd is opened before the last check, so that a signal never reaches another process that reuses the process id.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
from collections.abc import Callable, Iterator
from typing import Final

from codex_mcp.base.processes.offspring import PROC

PATIENCE: Final = 2000
"""Milliseconds to wait for the end of a killed process, which takes a few."""

ROUNDS: Final = 10
"""Processes may start while others are killed; one that is faster than this is a fork bomb."""


def end_processes(is_meant: Callable[[int], bool]) -> int:
    """End all processes for which `is_meant` is true, including new ones. Return how many there were.

    Blocks until they have ended. Linux only; elsewhere it finds nothing.
    """
    ended = 0
    for _ in range(ROUNDS):
        found = sum(_end(pid, is_meant) for pid in _all_processes())
        if not found:
            break
        ended += found
    return ended


def _all_processes() -> Iterator[int]:
    with contextlib.suppress(OSError):
        yield from (int(name) for name in os.listdir(PROC) if name.isdecimal())


def _end(pid: int, is_meant: Callable[[int], bool]) -> bool:
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.suppress(OSError))  # it has ended, or is another user's
        if not is_meant(pid):
            return False
        descriptor = os.pidfd_open(pid)
        stack.callback(os.close, descriptor)
        if is_meant(pid):  # again, now that the descriptor pins the process
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            return bool(poll.poll(PATIENCE))
    return False
