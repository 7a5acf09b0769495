"""Folders in each other, deeper than every limit."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

DEEP = 5000
"""More than Python's recursion, the usual number of descriptors, and a path of 4096 bytes allow."""


@contextlib.contextmanager
def removed_at_last(folder: Path) -> Iterator[None]:
    """Remove the folder in any case: pytest cannot remove it later."""
    try:
        yield
    finally:
        subprocess.run(["rm", "-rf", str(folder)], check=True)


def dig(folder: Path, depth: int = DEEP) -> None:
    """Make folders in each other, with a file in each."""
    folder.mkdir(exist_ok=True)
    here = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.close(os.open("file", os.O_CREAT, dir_fd=here))
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
