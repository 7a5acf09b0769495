"""Ends the Codex of another server that is stopped or hangs, so that its conversations can be resumed here (Linux).

Codex locks a conversation for as long as its process lives. A process is ended only if it has the same user, was
started by exactly that server (parent, and the random mark in its environment) and is an app-server. A pidfd is opened
before the checks, so that a signal never reaches another process that got the same number.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
from collections.abc import Callable
from typing import Final

from codex_mcp.base.marks import SERVED_BY, variables
from codex_mcp.base.offspring import PROC, parent

PATIENCE: Final = 2000
"""Milliseconds for a killed process to be gone; it takes a few."""

ROUNDS: Final = 10
"""A wrapper that is killed leaves the Codex that it started to the server, where the next round finds it."""


def end_codex_of(server: int, mark: str) -> int:
    """End the Codex that this server started, and the commands that it leaves. Return how many Codexes it was.

    The caller makes sure that the server has lost its lease. Blocks until they are gone.
    """
    runs_below_it = variables(os.getpid(), (SERVED_BY,)).get(SERVED_BY) == mark
    if sys.platform != "linux" or not mark or runs_below_it:
        return 0
    codexes = _end_all(lambda pid: _is_codex_of(pid, server, mark))
    if codexes:
        # The server ends them itself when it finds its Codex dead, but it does not run.
        _end_all(lambda pid: variables(pid, (SERVED_BY,)).get(SERVED_BY) == mark)
    return codexes


def _is_codex_of(pid: int, server: int, mark: str) -> bool:
    return (
        parent(str(pid)) == str(server).encode()
        and variables(pid, (SERVED_BY,)).get(SERVED_BY) == mark
        and b"app-server" in _arguments(pid)
        and os.stat(f"{PROC}/{pid}").st_uid == os.geteuid()
    )


def _arguments(pid: int) -> list[bytes]:
    with open(f"{PROC}/{pid}/cmdline", "rb") as cmdline:
        return cmdline.read().split(b"\0")[1:]


def _end_all(is_meant: Callable[[int], bool]) -> int:
    ended = 0
    for _ in range(ROUNDS):
        found = sum(_end(int(name), is_meant) for name in os.listdir(PROC) if name.isdecimal())
        if not found:
            break
        ended += found
    return ended


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
