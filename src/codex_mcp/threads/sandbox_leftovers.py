"""Empty folders that a killed sandbox leaves in the workspace, removed again.

Codex hides four folders of the workspace from a sandboxed command by mounting over them, makes them first if need be,
and removes them when the command ends; a killed command leaves them. An empty `.git` would confuse every tool that
looks for one.
"""

from __future__ import annotations

import contextlib
import os
from typing import Final

MOUNT_POINTS: Final = (".git", ".codex", ".agents", ".aws")
"""What the sandbox of Codex 0.163–0.166 mounts over."""


class SandboxLeftovers:
    """Remembers which of the folders were there before."""

    def __init__(self, folder: str) -> None:
        self._paths = {name: os.path.join(folder, name) for name in MOUNT_POINTS}
        self._ours: frozenset[str] = frozenset(MOUNT_POINTS)

    def look(self) -> None:
        """Before a turn: what exists now is not leftovers."""
        self._ours = frozenset(name for name, path in self._paths.items() if os.path.lexists(path))

    def clean(self) -> None:
        """After a command was killed: remove what was not there, if it is an empty folder."""
        for name, path in self._paths.items():
            if name not in self._ours:
                with contextlib.suppress(OSError):
                    os.rmdir(path)
