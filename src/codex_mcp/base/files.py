"""Files: read if they exist, written atomically, private, rotated.

Paths are plain strings: importing pathlib costs 5 ms of the 150 ms that we have to answer `initialize`.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from typing import BinaryIO

PRIVATE = 0o600
"""Our files may name projects, prompts and threads, so other users must not read them."""

PATH_ONLY = getattr(os, "O_PATH", os.O_RDONLY)
"""macOS has no descriptors that only name a folder."""

LONGEST = 16 * 1024 * 1024
"""Bytes of a file that is read as a whole, unless the caller has another limit: ten times the largest configuration or
record that we know of, and little enough to be read many times at once."""

COPIED_AT_ONCE = 1024 * 1024
"""Bytes."""

LINES_AT_ONCE = 256 * 1024
"""Bytes of the lines that are handed over together."""

DRAFT = ".draft"
"""The suffix of a file that is still being written."""


def read_if_there(path: str, limit: int = LONGEST, *, links: bool = True) -> bytes | None:
    """The file's bytes, or None if it does not exist. Raises OSError as `read_regular` does."""
    try:
        return read_regular(path, limit, links=links)
    except (FileNotFoundError, NotADirectoryError):
        return None


def read_regular(path: str, limit: int = LONGEST, *, links: bool = True) -> bytes:
    """The bytes of a regular file. Raises OSError, also if it is longer than `limit` bytes, or still grows."""
    with opened(path, links=links) as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"it is longer than {limit} bytes", path)
    return data


def read_beginning(path: str, limit: int, *, links: bool = True) -> bytes:
    """At most so many bytes of a regular file, from its beginning. Raises OSError."""
    with opened(path, links=links) as file:
        return file.read(limit)


def opened(path: str, *, links: bool = True) -> BinaryIO:
    """A regular file to read from. The caller reads a limited number of bytes, or in a limited loop. Raises OSError."""
    return open(open_regular(path, os.O_RDONLY if links else os.O_RDONLY | os.O_NOFOLLOW), "rb", closefd=True)


def open_regular(path: str, flags: int = os.O_RDONLY) -> int:
    """A descriptor of a regular file. Raises OSError for a folder, and for a pipe or a device, which could block.

    With `opened` and what uses it, this is the only way to read files here (tests/test_house_rules.py): whoever can
    write a file could put a pipe, a device or a file without end in its place.
    """
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY, PRIVATE)
    kind = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(kind):
        os.close(descriptor)
        if stat.S_ISDIR(kind):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        raise OSError(errno.EINVAL, "it is not a regular file", path)
    return descriptor


def size_of_regular(path: str) -> int:
    """The bytes of a regular file that we can read. Raises OSError."""
    descriptor = open_regular(path)
    try:
        return os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)


def lines_up_to(file: BinaryIO, longest: int, most: int) -> Iterator[list[bytes | None]]:
    """The lines of the next `most` bytes of a file, some at a time; None in the place of one with more than `longest`
    bytes."""
    is_rest, lines, size = False, list[bytes | None](), 0
    while most > 0 and (line := file.readline(longest)):
        most -= len(line)
        size += len(line)
        is_whole = line.endswith(b"\n") or len(line) < longest
        if not is_rest:
            lines.append(line if is_whole else None)
        is_rest = not is_whole
        if size >= LINES_AT_ONCE:
            yield lines
            lines, size = [], 0
    yield lines


def short_lines(file: BinaryIO, longest: int, most: int) -> Iterator[bytes]:
    """The lines of at most `longest` bytes, of the next `most` bytes of a file. Longer ones are skipped."""
    return (line for lines in lines_up_to(file, longest, most) for line in lines if line is not None)


def copy_regular(source: str, target: str, limit: int) -> None:
    """Copy a regular file, which is no link, to a private file that does not exist yet. Raises OSError."""
    with opened(source, links=False) as reader:
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, PRIVATE)
        with open(descriptor, "wb") as writer:
            while data := reader.read(min(COPIED_AT_ONCE, limit + 1)):
                limit -= len(data)
                if limit < 0:
                    raise OSError(errno.EFBIG, "it is too long to be copied", source)
                writer.write(data)


def open_without_links(folder: str, *, create: bool = False) -> int:
    """An O_PATH descriptor of a folder whose path contains no symbolic link. `create` makes missing folders."""
    flags = PATH_ONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    here = os.open("/", flags)
    for name in filter(None, folder.split("/")):
        try:
            if create:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, dir_fd=here)
            below = os.open(name, flags, dir_fd=here)
        finally:
            os.close(here)
        here = below
    return here


def make_private_folder(path: str) -> None:
    """Create this folder and its missing parents, readable by us alone. Existing folders are not changed."""
    try:
        os.mkdir(path, 0o700)
    except FileNotFoundError:
        parent = os.path.dirname(path)
        if parent in ("", path):
            raise
        make_private_folder(parent)
        make_private_folder(path)
    except FileExistsError:
        if not os.path.isdir(path):
            raise


def make_private(path: str) -> None:
    """Make this file readable by us alone; create it if it is missing. For files that a library writes itself."""
    descriptor = open_regular(path, os.O_RDWR | os.O_CREAT)
    try:
        if os.fstat(descriptor).st_mode & 0o077:
            os.fchmod(descriptor, PRIVATE)
    finally:
        os.close(descriptor)


def write_whole(path: str, data: bytes, *, mode: int = PRIVATE) -> None:
    """Replace the file's contents atomically: a reader sees the old bytes or the new ones, even after a crash.

    An existing file keeps its permissions, and a symbolic link keeps its target. Raises OSError; then the old contents
    are unchanged and no draft is left.
    """
    target = os.path.realpath(path)
    folder, name = os.path.split(target)
    with contextlib.suppress(FileNotFoundError):
        mode = os.stat(target).st_mode & 0o777
    draft = os.path.join(folder, f".{name}.{os.urandom(6).hex()}{DRAFT}")
    try:
        _write_and_sync(draft, data, mode)
        os.replace(draft, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft)
        raise
    sync_folder(folder)


def write_whole_without_links(path: str, data: bytes, *, mode: int = PRIVATE) -> None:
    """As `write_whole`, where others can change folders: no symbolic link of this path is followed, nor the last.

    Missing folders are made. Raises OSError.
    """
    folder, name = os.path.split(path)
    inside = open_without_links(folder, create=True)
    draft = f".{name}.{os.urandom(6).hex()}{DRAFT}"
    try:
        with contextlib.suppress(FileNotFoundError):
            found = os.stat(name, dir_fd=inside, follow_symlinks=False)
            mode = found.st_mode & 0o777 if stat.S_ISREG(found.st_mode) else mode
        try:
            _write_and_sync(draft, data, mode, inside)
            os.replace(draft, name, src_dir_fd=inside, dst_dir_fd=inside)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(draft, dir_fd=inside)
            raise
    finally:
        os.close(inside)
    sync_folder(folder)


def unlink_without_links(path: str) -> None:
    """Remove a file; no symbolic link of this path is followed. Raises OSError."""
    folder, name = os.path.split(path)
    inside = open_without_links(folder)
    try:
        os.unlink(name, dir_fd=inside)
    finally:
        os.close(inside)


def write_new(path: str, data: bytes) -> None:
    """Write a file that only we may read and that did not exist. Raises FileExistsError, also for a symbolic link."""
    _write_and_sync(path, data, PRIVATE)


def write_passing(path: str, data: bytes) -> None:
    """As `write_new`, for a file that need not survive a crash: it is not waited for."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(path, flags, PRIVATE), "wb") as file:
        file.write(data)


def new_file(path: str) -> BinaryIO:
    """A file to write, for us only, that did not exist. Raises FileExistsError, also for a symbolic link."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return open(os.open(path, flags, PRIVATE), "wb", closefd=True)


def is_named(descriptor: int, path: str) -> bool:
    """Whether this path still names the open file. Another process may have renamed or removed it."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def rotate(path: str, kept: int) -> None:
    """Rename a file to `path.1`, `path.1` to `path.2` and so on; keep this many old files. The caller holds a lock."""
    for number in range(kept - 1, 0, -1):
        with contextlib.suppress(FileNotFoundError):
            os.replace(f"{path}.{number}", f"{path}.{number + 1}")
    with contextlib.suppress(FileNotFoundError):
        if kept:
            os.replace(path, f"{path}.1")
        else:
            os.unlink(path)


def remove_drafts(path: str) -> None:
    """Remove the drafts that killed writers of this file left. Only the one process that may write it may call this: a
    draft that is still being written looks the same."""
    folder, name = os.path.split(os.path.realpath(path))
    with contextlib.suppress(FileNotFoundError):
        for entry in os.listdir(folder):
            if entry.startswith(f".{name}.") and entry.endswith(DRAFT):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(os.path.join(folder, entry))


def _write_and_sync(path: str, data: bytes, mode: int, folder: int | None = None) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, mode, dir_fd=folder)
    with open(descriptor, "wb") as file:
        os.fchmod(file.fileno(), mode)  # the umask may have cleared bits
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: str) -> None:
    """Make what was created, renamed or removed in this folder survive a loss of power."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
