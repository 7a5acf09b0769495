"""Reads and writes the configuration files of clients, with a backup beside each file that is changed.

The name of a backup contains a hash of what was written: if the file still has these bytes, nothing else has changed
it, and the backup is exactly what it was before. A backup that ends in `-absent` is empty: there was no file.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from codex_mcp.base.errors import Explained
from codex_mcp.base.files import PRIVATE, open_regular, write_whole

BACKUP: Final = ".before-codex-mcp-"
ABSENT: Final = "-absent"
HASH_CHARS: Final = 12

BACKUPS_KEPT: Final = 5
"""Per file. Claude Code changes its file all the time, so that its backups are never exact and would pile up."""

READABLE: Final = 0o644
"""For a new file in a project, which others work on too; files in the home folder are private."""


class Original(Struct, frozen=True):
    """What a file was before it was changed; `data` is None if it did not exist."""

    backup: str
    data: bytes | None


@contextlib.contextmanager
def _explained(verb: str, path: str) -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        raise Explained(f"cannot {verb} {path}: {exc.strerror or exc}") from exc


def read_config(path: str) -> bytes | None:
    """The bytes of a file; None if it does not exist. Raises Explained."""
    with _explained("read", path):
        try:
            descriptor = open_regular(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        with open(descriptor, "rb") as file:
            return file.read()


def check_writable(path: str, roots: Iterable[str]) -> None:
    """Raises Explained if the file is read-only, or lies outside of these folders, perhaps by a symbolic link."""
    target = os.path.realpath(path)
    real = [os.path.realpath(root) for root in roots]
    if not any(target == root or target.startswith(f"{root.rstrip('/')}/") for root in real):
        link = "" if target == path else f" leads to {target}, which"
        outside = "is outside of your home folder and of this project; edit it yourself"
        raise Explained(f"cannot change {path}: it{link} {outside}")
    with contextlib.suppress(FileNotFoundError):
        # For root every file is writable; a file without any such right was protected on purpose.
        if not os.stat(target).st_mode & 0o222 or not os.access(target, os.W_OK):
            raise Explained(f"cannot change {path}: it is read-only; run chmod u+w on it, or edit it yourself")


def save_backup(path: str, before: bytes | None, after: bytes) -> str:
    """Keep what the file was before it got these bytes; return the name of the backup. Raises Explained."""
    name = _backup_name(path, after) + (ABSENT if before is None else "")
    mode = PRIVATE
    with contextlib.suppress(FileNotFoundError):
        mode = os.stat(path).st_mode & 0o777
    with _explained("make a backup of", path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write_whole(name, before or b"", mode=mode)
    _forget_old(path)
    return name


def write_config(path: str, data: bytes, *, is_shared: bool = False) -> None:
    """Replace the file, or what its symbolic link names. Raises Explained."""
    with _explained("write", path):
        write_whole(path, data, mode=READABLE if is_shared else PRIVATE)


def original_of(path: str, current: bytes) -> Original | None:
    """What the file was before it got these bytes; None if that is not known."""
    name = _backup_name(path, current)
    if read_config(name + ABSENT) is not None:
        return Original(name + ABSENT, None)
    data = read_config(name)
    return None if data is None else Original(name, data)


def restore(path: str, original: Original) -> None:
    """Make the file what it was, and remove the backup. Raises Explained."""
    if original.data is None:
        with _explained("remove", path):
            os.unlink(os.path.realpath(path))
    else:
        write_config(path, original.data)
    forget(original)


def forget(original: Original) -> None:
    with contextlib.suppress(FileNotFoundError), _explained("remove", original.backup):
        os.unlink(original.backup)


def forget_absent(path: str) -> None:
    """Remove the backups that only say that there was no file."""
    for backup in backups_of(path):
        if backup.endswith(ABSENT):
            forget(Original(backup, None))


def backups_of(path: str) -> list[str]:
    """The backups of a file, the newest first."""
    folder, name = os.path.split(path)
    with contextlib.suppress(OSError):
        found = [os.path.join(folder, entry) for entry in os.listdir(folder) if entry.startswith(name + BACKUP)]
        return sorted(found, key=lambda backup: os.stat(backup).st_mtime_ns, reverse=True)
    return []


def _forget_old(path: str) -> None:
    for old in backups_of(path)[BACKUPS_KEPT:]:
        with contextlib.suppress(OSError):
            os.unlink(old)


def _backup_name(path: str, data: bytes) -> str:
    return f"{path}{BACKUP}{hashlib.sha256(data).hexdigest()[:HASH_CHARS]}"
