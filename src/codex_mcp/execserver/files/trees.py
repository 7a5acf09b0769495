"""Removes and copies directory trees of any depth.

A tree is walked by descriptors, one level at a time: paths may be longer than the system allows, and neither the stack
nor the number of open files grows with the depth. No link is followed, and a folder that is moved meanwhile is detected
on the way back.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK | os.O_CLOEXEC

NEW_FILE_MODE: Final = 0o666


class Cursor:
    """An open folder, and the identities of the folders above it, up to the start."""

    def __init__(self, path: str, flags: int = FOLDER) -> None:
        self.fd = os.open(path, flags)
        self._above: list[tuple[int, int]] = []

    def close(self) -> None:
        """Must not be called twice: the descriptor may have been reused."""
        os.close(self.fd)

    def enter(self, name: str) -> None:
        below = os.open(name, FOLDER, dir_fd=self.fd)
        self._above.append(_identity(self.fd))
        self._go(below)

    def leave(self) -> None:
        """Go back up. Raises OSError if the folder was moved."""
        above = os.open("..", FOLDER, dir_fd=self.fd)
        if _identity(above) != self._above.pop():
            os.close(above)
            raise OSError(errno.ESTALE, "a folder was moved during the operation")
        self._go(above)

    def _go(self, fd: int) -> None:
        os.close(self.fd)
        self.fd = fd


def _identity(fd: int) -> tuple[int, int]:
    found = os.fstat(fd)
    return found.st_dev, found.st_ino


@contextmanager
def _at(path: str, flags: int = FOLDER) -> Iterator[Cursor]:
    cursor = Cursor(path, flags)
    try:
        yield cursor
    finally:
        cursor.close()


def remove_tree(path: str) -> None:
    with _at(path) as here:

        def leave(name: str) -> None:
            here.leave()
            os.rmdir(name, dir_fd=here.fd)

        _walk(lambda: _split(here.fd, lambda entry: os.unlink(entry.name, dir_fd=here.fd)), here.enter, leave)
    os.rmdir(path)


def copy_tree(source: str, target: str) -> None:
    """Copy the files, folders and links in a folder into another, existing folder."""
    with _at(source) as ours, _at(target, FOLDER & ~os.O_NOFOLLOW) as theirs:

        def enter(name: str) -> None:
            try:
                os.mkdir(name, dir_fd=theirs.fd)
            except FileExistsError:
                if not stat.S_ISDIR(os.stat(name, dir_fd=theirs.fd, follow_symlinks=False).st_mode):
                    raise
            ours.enter(name)
            theirs.enter(name)

        def leave(_: str) -> None:
            ours.leave()
            theirs.leave()

        def copy_one(entry: os.DirEntry[str]) -> None:
            if entry.is_symlink():
                os.symlink(os.readlink(entry.name, dir_fd=ours.fd), entry.name, dir_fd=theirs.fd)
            elif entry.is_file(follow_symlinks=False):
                copy_content(os.open(entry.name, READ, dir_fd=ours.fd), entry.name, theirs.fd)

        _walk(lambda: _split(ours.fd, copy_one), enter, leave)


def copy_content(source: int, name: str, folder: int | None = None) -> None:
    """Copy an open file with its mode, and close it. Raises SameFile or NotAFile before anything is changed."""
    with open(source, "rb", buffering=0) as reader:
        found = os.fstat(source)
        with suppress(FileNotFoundError):
            there = os.stat(name, dir_fd=folder)
            if os.path.samestat(there, found):
                raise SameFile
            if not stat.S_ISREG(there.st_mode) and not stat.S_ISDIR(there.st_mode):
                raise NotAFile
        with open(os.open(name, NEW_FILE, NEW_FILE_MODE, dir_fd=folder), "wb", buffering=0) as writer:
            shutil.copyfileobj(reader, writer, 1 << 20)
            os.fchmod(writer.fileno(), stat.S_IMODE(found.st_mode))


class SameFile(Exception):
    """A file would be copied to itself."""


class NotAFile(Exception):
    """The target is a device, a pipe or a socket."""


def _split(folder: int, handle: Callable[[os.DirEntry[str]], object]) -> list[str]:
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


def _walk(look: Callable[[], list[str]], enter: Callable[[str], object], leave: Callable[[str], object]) -> None:
    """Enter and leave every folder below the current one; `look` returns the folders in the folder entered last."""
    left, way = [look()], [""]
    while left:
        if left[-1]:
            way.append(left[-1].pop())
            enter(way[-1])
            left.append(look())
        else:
            left.pop()
            name = way.pop()
            if left:
                leave(name)


def make_folders(path: str) -> None:
    """Create a folder and its missing parents, following links."""
    missing = [path]
    while missing:
        try:
            os.mkdir(missing[-1])
        except FileNotFoundError:
            missing.append(os.path.dirname(missing[-1]))
            continue
        except FileExistsError:
            if not os.path.isdir(missing[-1]):
                raise
        missing.pop()
