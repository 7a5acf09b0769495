"""Files that are read if they are there, and written whole or not at all.

Names are plain strings: importing pathlib costs 5 ms of the 150 that we have until `initialize` is answered.
"""

import contextlib
import errno
import os
import stat

PRIVATE = 0o600
"""What we write may name projects, prompts and threads: nobody else on the machine needs to read it."""

DRAFT = ".draft"
"""How the name of a file ends that is not whole yet."""


def read_if_there(path: str) -> bytes | None:
    """The file's bytes, or None if there is no such file. Other troubles (rights, a folder) are OSErrors."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None


def open_regular(path: str, flags: int = os.O_RDONLY, mode: int = PRIVATE) -> int:
    """A descriptor of a regular file. A pipe or a device, which could block for ever, is an OSError, as is a folder."""
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, mode)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file", path)
    return descriptor


def open_without_links(folder: str, *, create: bool = False) -> int:
    """An O_PATH descriptor of a folder whose path contains no symbolic link. `create` makes missing folders."""
    flags = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
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
    """Make this folder, and those above it that are missing, readable by us alone. One that exists stays as it is."""
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
    """Let nobody else read this file; make it, empty, if it is not there. For files that a library writes itself."""
    descriptor = open_regular(path, os.O_RDWR | os.O_CREAT)
    try:
        if os.fstat(descriptor).st_mode & 0o077:
            os.fchmod(descriptor, PRIVATE)
    finally:
        os.close(descriptor)


def write_whole(path: str, data: bytes, *, mode: int = PRIVATE) -> None:
    """Replace the file's contents in one step: whoever reads sees the old bytes or the new ones, also after a crash.

    A file that exists keeps its permissions, and a symbolic link keeps pointing to what it did. Raises OSError; then
    the old contents are untouched and nothing is left lying around.
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
    _sync_folder(folder)


def remove_drafts(path: str) -> None:
    """Remove what writers of this file left when they were killed in the middle. To be called by whoever holds the
    right to write it: the draft of one that still writes looks the same."""
    folder, name = os.path.split(os.path.realpath(path))
    with contextlib.suppress(FileNotFoundError):
        for entry in os.listdir(folder):
            if entry.startswith(f".{name}.") and entry.endswith(DRAFT):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(os.path.join(folder, entry))


def _write_and_sync(path: str, data: bytes, mode: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with open(descriptor, "wb") as file:
        os.fchmod(file.fileno(), mode)  # the umask may have taken bits away
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
