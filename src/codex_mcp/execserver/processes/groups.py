"""Who is in a process group (Linux)."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def members(group: int) -> list[int]:
    """The processes of this group, as far as they can be seen."""
    wanted = str(group).encode()
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            # "pid (name) state ppid pgrp …", where the name may hold anything, brackets too.
            _, _, after_name = stat.read_bytes().rpartition(b")")
            if after_name.split()[2] == wanted:
                found.append(int(stat.parent.name))
    return found
