"""Empty folders at names that a sandbox must not create.

To forbid a name, something must be mounted on it, so it must exist. A placeholder exists, visible to all programs, as
long as a confined process needs it. Removing it earlier would remove the mounts of the others, and several servers may
work in one folder: each user holds a shared lock, and only a holder of the exclusive lock removes the folder. A
placeholder left by a killed server is taken over, and removed in the end.
"""

from __future__ import annotations

import fcntl
import os
import stat
from contextlib import suppress
from typing import Final

from msgspec import Struct

MODE: Final = 0o555

ANY_WRITE: Final = 0o222

TRIES: Final = 10
"""How often another server may remove a folder that we are about to share."""

FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Placeholder(Struct, eq=False):
    """One folder. It is kept open, so that no other folder gets its inode number."""

    path: str
    descriptor: int
    users: int = 0


class Placeholders:
    def __init__(self) -> None:
        self._places: dict[str, Placeholder] = {}

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, path: str) -> bool:
        return path in self._places

    def hold(self, path: str) -> Placeholder | None:
        """Create the placeholder or share it; None if something else has the name. Raises OSError."""
        place = self._places.get(path)
        if place is None or not _is_at(path, place.descriptor):
            descriptor = _shared(path)
            if descriptor is None:
                return None
            place = self._places[path] = Placeholder(path, descriptor)
        place.users += 1
        return place

    def release(self, place: Placeholder) -> None:
        place.users -= 1
        if place.users:
            return
        if self._places.get(place.path) is place:
            del self._places[place.path]
        with suppress(OSError):  # another server needs it, or it is no longer empty
            fcntl.flock(place.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(place.path, place.descriptor):
                os.rmdir(place.path)
        os.close(place.descriptor)


def _shared(path: str) -> int | None:
    """A locked descriptor of the new or existing placeholder; None if the name is something else."""
    for _ in range(TRIES):
        with suppress(FileExistsError):
            os.mkdir(path, MODE)
        try:
            descriptor = os.open(path, FOLDER)
        except FileNotFoundError:
            continue
        except OSError:
            return None
        try:
            if not _is_placeholder(descriptor):
                os.close(descriptor)
                return None
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)  # another server is removing it
            continue
        except OSError:  # a file system without locks: not shared with other servers
            return descriptor
        if _is_at(path, descriptor):
            return descriptor
        os.close(descriptor)
    return None


def _is_placeholder(descriptor: int) -> bool:
    found = os.fstat(descriptor)
    return found.st_uid == os.geteuid() and not found.st_mode & ANY_WRITE and not os.listdir(descriptor)


def _is_at(path: str, descriptor: int) -> bool:
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and os.path.samestat(found, os.fstat(descriptor))
