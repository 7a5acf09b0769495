"""Ends processes that are told by what /proc says of them, wherever they are in the tree of processes (Linux).

A pidfd is opened before the last check, so that a signal never reaches another process that got the same number.
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
"""Milliseconds for a killed process to be gone; it takes a few."""

ROUNDS: Final = 10
"""Processes may be started while others are being killed; who is faster than this is a fork bomb."""


def end_processes(is_meant: Callable[[int], bool]) -> int:
    """End all processes that are meant, and those that they leave if meant as well. Return how many there were.

    Blocks until they are gone. Linux only; elsewhere nothing is found.
    """
    ended = 0
    for _ in range(ROUNDS):
        found = sum(_end(pid, is_meant) for pid in _everybody())
        if not found:
            break
        ended += found
    return ended


def _everybody() -> Iterator[int]:
    with contextlib.suppress(OSError):
        yield from (int(name) for name in os.listdir(PROC) if name.isdecimal())


def _end(pid: int, is_meant: Callable[[int], bool]) -> bool:
    """End this process if it is meant, and wait until it has ended."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.suppress(OSError))  # it has ended since, or is another user's
        if not is_meant(pid):
            return False
        descriptor = os.pidfd_open(pid)
        stack.callback(os.close, descriptor)
        if is_meant(pid):  # again, now that the descriptor pins it
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            return bool(poll.poll(PATIENCE))
    return False
