"""How much memory and processor time programs take: PSS, in which each page is divided among those who share it."""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
CPU_CLOCK_SCHED = 2
"""Linux makes the clock of a process of its id and this."""

KIB_PER_MIB = 1024


@dataclass(frozen=True, slots=True)
class Memory:
    """In MiB."""

    pss: float
    """Everything, the program's own file included as far as it is in memory."""
    anonymous: float
    """What is not the content of a file, and so cannot be dropped and read again."""


def can_be_measured() -> bool:
    """Only Linux tells."""
    return (PROC / "self/smaps_rollup").exists()


def memory_of(roots: list[int]) -> Memory:
    """The memory of these processes and of all their descendants, as if nobody else ran their programs."""
    family = _family(roots)
    programs = Counter(map(_program, family))
    kept = [_charged(_sizes(pid), is_alone=programs[_program(pid)] == 1) for pid in family]
    return Memory(sum(each.pss for each in kept), sum(each.anonymous for each in kept))


def resident(pids: list[int]) -> float:
    """The memory of these processes alone, in MiB, as if nobody else ran their programs: what is theirs, and of each
    file the most that any of them has in memory."""
    files: dict[str, int] = {}
    for pid in pids:
        for name, size in _file_sizes(pid).items():
            files[name] = max(size, files.get(name, 0))
    anonymous = sum(_sizes(pid).get("Pss_Anon", 0) for pid in pids)
    return (anonymous + sum(files.values())) / KIB_PER_MIB


def _file_sizes(pid: int) -> Mapping[str, int]:
    """By file, how much of it is in the memory of a process."""
    sizes: Counter[str] = Counter()
    name = ""
    for line in (PROC / str(pid) / "smaps").read_text().splitlines():
        key, _, rest = line.partition(" ")
        if not key.endswith(":"):
            name = rest.split(maxsplit=4)[-1]
        elif key == "Rss:":
            sizes[name] += int(rest.split()[0])
        elif key == "Anonymous:":
            sizes[name] -= int(rest.split()[0])
    return sizes


def cpu_milliseconds(pid: int) -> float:
    """How long the threads of a process have been running, as exactly as the scheduler knows; 0 where nobody tells."""
    times = [int(thread.read_text().split()[0]) for thread in (PROC / str(pid) / "task").glob("*/schedstat")]
    return sum(times) / 1e6


def cpu_of_process(pid: int) -> float:
    """The same in milliseconds, with the threads that have ended."""
    return time.clock_gettime_ns((~pid << 3) | CPU_CLOCK_SCHED) / 1e6


def children_of(pid: int) -> list[int]:
    """The processes that it has started."""
    return [child for child, parent in _parents().items() if parent == pid]


def _charged(kib: Mapping[str, int], *, is_alone: bool) -> Memory:
    """The only one to run its program pays for all its pages; others on this machine who share them do not count."""
    if not kib:
        return Memory(0, 0)
    files = kib["Rss"] - kib["Anonymous"] if is_alone else kib["Pss"] - kib["Pss_Anon"]
    return Memory((kib["Pss_Anon"] + files) / KIB_PER_MIB, kib["Pss_Anon"] / KIB_PER_MIB)


def _sizes(pid: int) -> Mapping[str, int]:
    with contextlib.suppress(OSError):  # it may have ended since
        _, *lines = (PROC / str(pid) / "smaps_rollup").read_text().splitlines()
        return {name: int(size.split()[0]) for name, _, size in (line.partition(":") for line in lines)}
    return {}


def _program(pid: int) -> str:
    with contextlib.suppress(OSError):
        return os.readlink(PROC / str(pid) / "exe")
    return ""


def _family(roots: list[int]) -> set[int]:
    parents = _parents()
    family = set(roots)
    while more := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= more
    return family


def _parents() -> dict[int, int]:
    return {int(folder.name): _parent(folder) for folder in PROC.iterdir() if folder.name.isdigit()}


def _parent(process: Path) -> int:
    try:
        # The name, in brackets, may hold spaces and brackets itself; the parent is the second word after it.
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0  # it has ended since
