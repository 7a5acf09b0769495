"""Marks of a process: variables in its environment that tell who started it (Linux; elsewhere nothing is found).

Processes inherit them however they detach. A process that clears its environment cannot be recognised.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Final

from codex_mcp.base.processes.offspring import PROC

SERVED_BY: Final = "CODEX_SERVED_BY"
"""Set for a core, and inherited by its commands: which server started it."""

RUN_BY: Final = "CODEX_MCP_RUN_BY"
"""Set for our own children that could outlive us (git, trials of a Codex): which process started them."""

OURS: Final = os.urandom(8).hex()
"""The value of RUN_BY for children of this process."""

LOOKS: Final = 2000
"""How often to retry for a process that is replacing its program, which takes a few microseconds of CPU time."""

SURE: Final = 5
"""How often a process that has arguments must show no environment: it may replace its program between two looks."""


def variables(pid: int, names: Collection[str]) -> dict[str, str]:
    pairs = (entry.decode(errors="replace").partition("=") for entry in environment(pid).split(b"\0"))
    return {name: value for name, _, value in pairs if name in names}


def environment(pid: int | str) -> bytes:
    """The environment of a process: `NAME=value` with a NUL after each. Empty if it ended or is another user's.

    While a process replaces its program (exec), the kernel shows neither its environment nor its arguments. Otherwise a
    process always has arguments, so if both are empty, this tries again; one that shows arguments alone was perhaps
    between two programs.
    """
    empty = 0
    try:
        for _ in range(LOOKS):
            if found := _read(pid, "environ"):
                return found
            os.readlink(f"{PROC}/{pid}/exe")  # fails for a zombie and for a kernel thread
            if _read(pid, "cmdline"):
                empty += 1
                if empty == SURE:
                    break
            os.sched_yield()
    except OSError:
        pass
    return b""


def _read(pid: int | str, name: str) -> bytes:
    with open(f"{PROC}/{pid}/{name}", "rb") as file:
        return file.read()
