"""Walks and removes directory trees that others have filled. Blocks.

Whoever fills a folder decides how deep it is: deeper than Python's recursion, than the descriptors of a process, and
than the longest path. So a tree is walked by descriptors, one level at a time. No link is followed, and a folder that
is moved meanwhile is noticed on the way back.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

SHOWN: Final = 20
"""Folders of a path in an error."""


class Cursor:
    """An open folder, and the folders above it, up to the start."""

    def __init__(self, path: str, flags: int = FOLDER) -> None:
        self.fd = os.open(path, flags)
        self._path = path
        self._above: list[tuple[str, tuple[int, int]]] = []
        """From the first folder down: the name of the one below it, and which it is."""

    def close(self) -> None:
        """Must not be called twice: the descriptor may have been reused."""
        os.close(self.fd)

    def enter(self, name: str) -> None:
        below = os.open(name, FOLDER, dir_fd=self.fd)
        self._above.append((name, _identity(self.fd)))
        self._go(below)

    def leave(self) -> None:
        """Go back up. Raises OSError if the folder was moved."""
        above = os.open("..", FOLDER, dir_fd=self.fd)
        if _identity(above) != self._above.pop()[1]:
            os.close(above)
            raise OSError(errno.ESTALE, "a folder was moved during the operation", self._path)
        self._go(above)

    def path_of(self, name: str) -> str:
        """Of an entry, for an error: the first folders, and the name."""
        return os.path.join(self._path, *(each for each, _ in self._above[:SHOWN]), name)

    def _go(self, fd: int) -> None:
        os.close(self.fd)
        self.fd = fd


def _identity(fd: int) -> tuple[int, int]:
    found = os.fstat(fd)
    return found.st_dev, found.st_ino


@contextmanager
def cursor_at(path: str, flags: int = FOLDER) -> Iterator[Cursor]:
    cursor = Cursor(path, flags)
    try:
        yield cursor
    finally:
        cursor.close()


def remove_tree(path: str) -> None:
    """Remove a folder with all that is in it, and follow no link. Raises OSError with the first that stays."""
    errors: list[OSError] = []
    with cursor_at(path) as here:

        def tried(act: Callable[[], None], name: str) -> bool:
            try:
                act()
            except OSError as exc:
                if not errors and not isinstance(exc, FileNotFoundError):
                    errors.append(OSError(exc.errno, exc.strerror, here.path_of(name)))
                return False
            return True

        def leave(name: str) -> None:
            here.leave()
            tried(lambda: os.rmdir(name, dir_fd=here.fd), name)

        def look() -> list[str]:
            return split(here.fd, lambda entry: tried(lambda: os.unlink(entry.name, dir_fd=here.fd), entry.name))

        walk(look, lambda name: tried(lambda: here.enter(name), name), leave)
    if errors:
        raise errors[0]
    os.rmdir(path)


def split(folder: int, handle: Callable[[os.DirEntry[str]], object]) -> list[str]:
    """Handle the entries of a folder that are not folders; return the names of the folders."""
    with os.scandir(folder) as found:
        entries = list(found)
    folders = []
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            folders.append(entry.name)
        else:
            handle(entry)
    return folders


def walk(look: Callable[[], list[str]], enter: Callable[[str], bool], leave: Callable[[str], object]) -> None:
    """Enter and leave every folder below the current one; `look` returns the folders in the folder entered last.

    `enter` says whether it has entered.
    """
    left, way = [look()], [""]
    while left:
        if left[-1]:
            name = left[-1].pop()
            if enter(name):
                way.append(name)
                left.append(look())
        else:
            left.pop()
            name = way.pop()
            if left:
                leave(name)
