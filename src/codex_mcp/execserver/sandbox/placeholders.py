"""Empty folders that stand where a sandbox must keep something from being made.

To forbid a name, something has to be mounted on it, and so it must exist. As long as one confined process needs it, it
is there, for everybody to see; with the last one it goes. Removed too early, it would take the mounts of the others
with it, so whoever needs one holds a shared lock on it, and only who gets an exclusive one removes it: several servers
may work in one folder. What a killed server left is taken over, and removed in the end.
"""

from __future__ import annotations

import fcntl
import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

MODE: Final = 0o555

ANY_WRITE: Final = 0o222

TRIES: Final = 10
"""How often another server may remove a folder that we were about to share with it."""

FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(slots=True, eq=False)
class Place:
    """One of them. It is held open, so that no other folder gets its number as long as somebody counts on it."""

    path: str
    descriptor: int
    users: int = 0


class Placeholders:
    """Those that this server needs."""

    def __init__(self) -> None:
        self._places: dict[str, Place] = {}

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, path: str) -> bool:
        return path in self._places

    def hold(self, path: str) -> Place | None:
        """Make sure that the name is taken by an empty folder; None if something else has it. Raises OSError if it
        cannot be made."""
        place = self._places.get(path)
        if place is None or not _is_at(path, place.descriptor):
            descriptor = _shared(path)
            if descriptor is None:
                return None
            place = self._places[path] = Place(path, descriptor)
        place.users += 1
        return place

    def release(self, place: Place) -> None:
        """One needs it no longer."""
        place.users -= 1
        if place.users:
            return
        if self._places.get(place.path) is place:
            del self._places[place.path]
        with suppress(OSError):  # another server needs it, or somebody has put something there meanwhile
            fcntl.flock(place.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(place.path, place.descriptor):
                os.rmdir(place.path)
        os.close(place.descriptor)


def _shared(path: str) -> int | None:
    """Make the folder, or join those who have made it; None if it is something else."""
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
            os.close(descriptor)  # it is being removed just now
            continue
        except OSError:  # a file system without locks: there it is not shared with other servers
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
