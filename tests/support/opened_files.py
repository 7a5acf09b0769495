"""Which files below a folder any process opens, told by the kernel (inotify)."""

import contextlib
import ctypes
import os
import struct
from collections.abc import Iterator
from pathlib import Path

IN_OPEN = 0x20
IN_ISDIR = 0x40000000
IN_NONBLOCK = os.O_NONBLOCK
EVENT = struct.Struct("iIII")
MOST = 1 << 20
"""Bytes of events that are read at once; the kernel keeps 16,384 events."""


@contextlib.contextmanager
def opened_files(folder: Path) -> Iterator[set[str]]:
    """The files, by their paths in the folder; complete at the end of the block. New folders are not looked into."""
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.inotify_init1(IN_NONBLOCK)
    assert descriptor >= 0, os.strerror(ctypes.get_errno())
    found: set[str] = set()
    try:
        places = {
            libc.inotify_add_watch(descriptor, os.fsencode(place), IN_OPEN): Path(place)
            for place, _, _ in os.walk(folder)
        }
        assert min(places) > 0
        yield found
        with contextlib.suppress(BlockingIOError):
            while data := os.read(descriptor, MOST):
                found.update(_names(data, places, folder))
    finally:
        os.close(descriptor)


def _names(data: bytes, places: dict[int, Path], folder: Path) -> Iterator[str]:
    start = 0
    while start < len(data):
        watch, mask, _, length = EVENT.unpack_from(data, start)
        start += EVENT.size + length
        name = os.fsdecode(data[start - length : start].rstrip(b"\0"))
        assert watch in places, "the kernel has left out events"
        if name and not mask & IN_ISDIR:
            yield str((places[watch] / name).relative_to(folder))
