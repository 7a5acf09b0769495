"""Copies directory trees of any depth, as `base.disk.trees` walks them, and makes folders."""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import suppress
from typing import Final

from codex_mcp.base.disk.trees import FOLDER, cursor_at, split, walk

READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK | os.O_CLOEXEC

NEW_FILE_MODE: Final = 0o666


def copy_tree(source: str, target: str) -> None:
    """Copy the files, folders and links in a folder into another, existing folder."""
    with cursor_at(source) as ours, cursor_at(target, FOLDER & ~os.O_NOFOLLOW) as theirs:

        def enter(name: str) -> bool:
            try:
                os.mkdir(name, dir_fd=theirs.fd)
            except FileExistsError:
                if not stat.S_ISDIR(os.stat(name, dir_fd=theirs.fd, follow_symlinks=False).st_mode):
                    raise
            ours.enter(name)
            theirs.enter(name)
            return True

        def leave(_: str) -> None:
            ours.leave()
            theirs.leave()

        def copy_one(entry: os.DirEntry[str]) -> None:
            if entry.is_symlink():
                os.symlink(os.readlink(entry.name, dir_fd=ours.fd), entry.name, dir_fd=theirs.fd)
            elif entry.is_file(follow_symlinks=False):
                copy_content(os.open(entry.name, READ, dir_fd=ours.fd), entry.name, theirs.fd)

        walk(lambda: split(ours.fd, copy_one), enter, leave)


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
