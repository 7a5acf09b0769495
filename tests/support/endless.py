"""Files that never end, or never answer: what a stranger can put in the place of an ordinary one."""

import os
from pathlib import Path

KINDS = ("pipe", "device", "huge")

HUGE = 1 << 30
"""Bytes of a sparse file: none of it is on the disk."""


def put(path: Path, kind: str) -> None:
    """Put such a file in this place."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "device":
            path.symlink_to("/dev/zero")
        case _:
            path.touch()
            os.truncate(path, HUGE)


def peak(pid: int) -> int:
    """The most memory that a process has had, in bytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    [line] = [line for line in lines if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024
