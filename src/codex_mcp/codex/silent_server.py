"""Ends the Codex of another server that is stopped or hangs, so that its conversations can be resumed here (Linux).

Codex locks a conversation for as long as its process lives. A process is ended only if it has the same user, was
started by exactly that server (parent, and the random mark in its environment) and is an app-server.
"""

from __future__ import annotations

import os
import sys

from codex_mcp.base.processes.marks import SERVED_BY, variables
from codex_mcp.base.processes.offspring import PROC, parent
from codex_mcp.base.processes.termination import end_processes


def end_codex_of(server: int, mark: str) -> int:
    """End the Codex of this server and the commands that it leaves. Return how many Codexes there were.

    The caller makes sure that the server has lost its lease. Blocks until they are gone.
    """
    runs_below_it = variables(os.getpid(), (SERVED_BY,)).get(SERVED_BY) == mark
    if sys.platform != "linux" or not mark or runs_below_it:
        return 0
    # A wrapper that is killed leaves the Codex that it started to the server, and that is found as well.
    codexes = end_processes(lambda pid: _is_codex_of(pid, server, mark))
    if codexes:
        # The server ends them itself when it finds its Codex dead, but it does not run.
        end_processes(lambda pid: variables(pid, (SERVED_BY,)).get(SERVED_BY) == mark)
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
