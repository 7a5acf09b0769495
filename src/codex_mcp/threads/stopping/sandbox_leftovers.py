"""Removes the empty folders that a killed sandbox leaves in the workspace.

Codex hides four folders of the workspace from a sandboxed command by mounting over them. It creates the missing ones
and removes them when the command ends; a killed command leaves them. An empty `.git` would confuse other tools.
"""

from __future__ import annotations

import contextlib
import os
from typing import Final

MOUNT_POINTS: Final = (".git", ".codex", ".agents", ".aws")
"""The folders that the sandbox of Codex 0.163–0.166 mounts over."""


class SandboxLeftovers:
    def __init__(self, folder: str) -> None:
        self._paths = {name: os.path.join(folder, name) for name in MOUNT_POINTS}
        self._ours: frozenset[str] = frozenset(MOUNT_POINTS)

    def look(self) -> None:
        """Before a turn: folders that exist now are not leftovers."""
        self._ours = frozenset(name for name, path in self._paths.items() if os.path.lexists(path))

    def clean(self) -> None:
        """After a command was killed: remove folders that did not exist before, if they are empty."""
        for name, path in self._paths.items():
            if name not in self._ours:
                with contextlib.suppress(OSError):
                    os.rmdir(path)
