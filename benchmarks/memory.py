"""How much memory a program and its descendants have: PSS, in which each page is divided among those who share it."""

from __future__ import annotations

from pathlib import Path

PROC = Path("/proc")
KIB_PER_MIB = 1024


def can_be_measured() -> bool:
    """Only Linux tells."""
    return (PROC / "self/smaps_rollup").exists()


def pss_mebibytes(roots: list[int]) -> float:
    """The proportional set size of these processes and their descendants."""
    return sum(_pss_kib(pid) for pid in _family(roots)) / KIB_PER_MIB


def _pss_kib(pid: int) -> int:
    for line in (PROC / str(pid) / "smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1])
    raise AssertionError("smaps_rollup without Pss")


def _family(roots: list[int]) -> set[int]:
    parents = {int(folder.name): _parent(folder) for folder in PROC.iterdir() if folder.name.isdigit()}
    family = set(roots)
    while more := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= more
    return family


def _parent(process: Path) -> int:
    try:
        # The name, in brackets, may hold spaces and brackets itself; the parent is the second word after it.
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0  # it has ended since
