"""Which named sessions are in use, in any server of a Codex home: a locked file each.

The kernel frees the lock when a server ends in any way. If the files cannot be written, sessions are not protected from
other servers.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
from typing import Final

from codex_mcp.base.files import make_private_folder
from codex_mcp.base.locks import is_locked, lock_file
from codex_mcp.sessions.session import Key

logger = logging.getLogger(__name__)

FOLDER: Final = os.path.join("codex-mcp", "session-locks")


class SessionLocks:
    def __init__(self, codex_home: str) -> None:
        self._folder = os.path.join(codex_home, FOLDER)
        self._held: dict[Key, int | None] = {}
        """Descriptors; None if the disk does not allow a lock."""

    def take(self, key: Key) -> bool:
        """Take a session for this server; True if it has it now. It never waits."""
        if key in self._held:
            return True
        try:
            make_private_folder(self._folder)
            self._held[key] = lock_file(self._path(key), patience=0)
        except TimeoutError:
            return False
        except OSError as exc:
            logger.warning("cannot protect named sessions from other servers: %s", exc)
            self._held[key] = None
        return True

    def free(self, key: Key) -> None:
        """Give a session back. One that is not ours is ignored."""
        descriptor = self._held.pop(key, None)
        if descriptor is not None:
            with contextlib.suppress(OSError):
                os.unlink(self._path(key))
            os.close(descriptor)

    def is_taken(self, key: Key) -> bool:
        """Does this server or another have the session?"""
        if key in self._held:
            return True
        try:
            return is_locked(self._path(key))
        except OSError:
            return False

    def close(self) -> None:
        for key in list(self._held):
            self.free(key)

    def _path(self, key: Key) -> str:
        name = hashlib.sha256(f"{key.principal}\0{key.id}".encode()).hexdigest()[:32]
        return os.path.join(self._folder, f"{name}.lock")
