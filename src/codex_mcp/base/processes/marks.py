"""For whom a process was started, by variables in its environment (Linux; elsewhere nothing is found).

Processes inherit them however they detach themselves. One that clears its environment cannot be told any longer.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Final

PROC: Final = "/proc"

SERVED_BY: Final = "CODEX_SERVED_BY"
"""Given to a core, and by it to its commands: which server has started it."""

LOOKS: Final = 2000
"""How often to look again at a process that is replacing its program; it needs a few microseconds of processor time."""


def variables(pid: int, names: Collection[str]) -> dict[str, str]:
    """Those of the variables that a process of ours was started with."""
    pairs = (entry.decode(errors="replace").partition("=") for entry in environment(pid).split(b"\0"))
    return {name: value for name, _, value in pairs if name in names}


def environment(pid: int | str) -> bytes:
    """The environment of a process: `NAME=value` with a NUL after each. Empty if it ended or is another user's.

    While a process replaces its program (exec), the kernel shows neither its environment nor its arguments. A process
    always has arguments otherwise, so without them the answer is not the last word.
    """
    try:
        for _ in range(LOOKS):
            if found := _read(pid, "environ"):
                return found
            os.readlink(f"{PROC}/{pid}/exe")  # fails for a zombie and for a thread of the kernel
            if _read(pid, "cmdline"):
                return _read(pid, "environ")
            os.sched_yield()
    except OSError:
        pass
    return b""


def _read(pid: int | str, name: str) -> bytes:
    with open(f"{PROC}/{pid}/{name}", "rb") as file:
        return file.read()
