"""Removes folders that others have filled. Blocks.

Whoever fills a folder decides how deep it is: deeper than Python's recursion, than the descriptors of a process, and
than the longest path. So there is no recursion, one folder is open at a time, and no path is used but the first.
"""

from __future__ import annotations

import errno
import os
from typing import Final

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

SHOWN: Final = 20
"""Folders of a path in an error."""


def remove_tree(path: str) -> None:
    """Remove a folder with all that is in it, and follow no link. Raises OSError with the first that stays."""
    removal = _Removal(path)
    try:
        removal.run()
    finally:
        os.close(removal.here)
    if removal.error is not None:
        raise removal.error
    os.rmdir(path)


class _Removal:
    def __init__(self, path: str) -> None:
        self._path = path
        self.here = os.open(path, _FOLDER)
        self.error: OSError | None = None
        self._above: list[tuple[str, list[str], tuple[int, int]]] = []
        """From the first folder down: the name of the one that we are in, those after it, and who their parent is."""

    def run(self) -> None:
        folders = self._without_files()
        while folders or self._above:
            if folders:
                name = folders.pop()
                is_below = self._goes_down(name, folders)
                folders = self._without_files() if is_below else folders
            else:
                folders = self._goes_up()

    def _without_files(self) -> list[str]:
        """Remove the files of the folder that we are in; return the names of its folders."""
        folders = []
        with os.scandir(self.here) as entries:
            found = list(entries)
        for entry in found:
            try:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
                else:
                    os.unlink(entry.name, dir_fd=self.here)
            except OSError as exc:
                self._failed(exc, entry.name)
        return folders

    def _goes_down(self, name: str, others: list[str]) -> bool:
        try:
            below = os.open(name, _FOLDER, dir_fd=self.here)
        except OSError as exc:
            self._failed(exc, name)
            return False
        self._above.append((name, others, _identity(self.here)))
        os.close(self.here)
        self.here = below
        return True

    def _goes_up(self) -> list[str]:
        """Remove the folder that we are in; return those that are left beside it."""
        name, others, parent = self._above.pop()
        above = os.open("..", _FOLDER, dir_fd=self.here)
        os.close(self.here)
        self.here = above
        if _identity(above) != parent:  # what is there is not ours to remove
            raise OSError(errno.EBUSY, "it was moved meanwhile", self._path)
        try:
            os.rmdir(name, dir_fd=above)
        except OSError as exc:
            self._failed(exc, name)
        return others

    def _failed(self, exc: OSError, name: str) -> None:
        if self.error is None and not isinstance(exc, FileNotFoundError):
            names = [each for each, _, _ in self._above[:SHOWN]]
            self.error = OSError(exc.errno, exc.strerror, os.path.join(self._path, *names, name))


def _identity(folder: int) -> tuple[int, int]:
    found = os.fstat(folder)
    return found.st_dev, found.st_ino
