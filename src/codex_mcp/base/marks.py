"""For whom a process was started, by variables in its environment (Linux; elsewhere nothing is found).

Processes inherit them however they detach themselves. One that clears its environment cannot be told any longer.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

PROC: Final = "/proc"

SERVED_BY: Final = "CODEX_SERVED_BY"
"""Given to a core, and by it to its commands: which server has started it."""


def variables(pid: int, names: Collection[str]) -> dict[str, str]:
    """Those of the variables that a process of ours was started with."""
    try:
        with open(f"{PROC}/{pid}/environ", "rb") as environ:
            pairs = (entry.decode(errors="replace").partition("=") for entry in environ.read().split(b"\0"))
            return {name: value for name, _, value in pairs if name in names}
    except OSError:
        return {}  # another user's, or it has ended since
