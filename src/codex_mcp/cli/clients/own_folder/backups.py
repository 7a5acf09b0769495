"""Copies of clients' files as they were before a change, in a folder of our own.

They are not beside the files: a repository would get files that do not belong to it, and could bring links of their
names. The name of a backup contains hashes of the file's path and of what was written: if the file still has these
bytes, nothing else has changed it, and the backup is exactly what it was before. A backup that ends in `-absent` is
empty: there was no file.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from typing import Final

from msgspec import Struct

from codex_mcp.base.files import make_private_folder, write_new
from codex_mcp.cli.clients.config_files import explained, read_config
from codex_mcp.cli.clients.known import Folders
from codex_mcp.cli.clients.own_folder.lock import own_folder

ABSENT: Final = "-absent"
HASH_CHARS: Final = 12

BACKUPS_KEPT: Final = 5
"""Per file. Claude Code changes its file all the time, so that its backups are never exact and would pile up."""


class Original(Struct, frozen=True):
    """What a file was before it was changed; `data` is None if it did not exist."""

    backup: str
    data: bytes | None


class Backups:
    """The backups of all files."""

    def __init__(self, where: Folders) -> None:
        self.folder = f"{own_folder(where)}/backups"

    def save(self, path: str, before: bytes | None, after: bytes) -> str:
        """Keep what the file was before it got these bytes; return the name of the backup. Raises Explained."""
        name = self._name(path, after) + (ABSENT if before is None else "")
        with explained("make a backup in", self.folder):
            make_private_folder(self.folder)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)
            write_new(name, before or b"")
        for old in self.of(path)[BACKUPS_KEPT:]:
            self.forget(old)
        return name

    def original_of(self, path: str, current: bytes) -> Original | None:
        """What the file was before it got these bytes; None if that is not known."""
        name = self._name(path, current)
        if read_config(name + ABSENT) is not None:
            return Original(name + ABSENT, None)
        data = read_config(name)
        return None if data is None else Original(name, data)

    def forget(self, backup: str) -> None:
        with explained("remove", backup), contextlib.suppress(FileNotFoundError):
            os.unlink(backup)

    def forget_absent(self, path: str) -> None:
        """Remove the backups that only say that there was no file."""
        for backup in self.of(path):
            if backup.endswith(ABSENT):
                self.forget(backup)

    def of(self, path: str) -> list[str]:
        """The backups of a file, the newest first."""
        start = os.path.basename(self._start(path))
        with contextlib.suppress(OSError):
            found = [os.path.join(self.folder, entry) for entry in os.listdir(self.folder) if entry.startswith(start)]
            return sorted(found, key=lambda backup: os.stat(backup).st_mtime_ns, reverse=True)
        return []

    def _start(self, path: str) -> str:
        return f"{self.folder}/{os.path.basename(path)}-{_hash(os.fsencode(path))}-"

    def _name(self, path: str, data: bytes) -> str:
        return self._start(path) + _hash(data)


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:HASH_CHARS]
