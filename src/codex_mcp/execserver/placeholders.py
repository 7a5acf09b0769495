"""Empty folders that stand where a sandbox must keep something from being made.

To forbid a name, something has to be mounted on it, and so it must exist. As long as one confined process needs it, it
is there, for everybody to see; with the last one it goes.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Final

MODE: Final = 0o555


class Placeholders:
    """Which of them there are, and how many need each."""

    def __init__(self) -> None:
        self._needed: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._needed)

    def __contains__(self, path: str) -> bool:
        return path in self._needed

    def hold(self, path: str) -> bool:
        """Make sure that the name is taken by an empty folder of ours; False if something else has it."""
        if path not in self._needed:
            try:
                os.mkdir(path, MODE)
            except FileExistsError:
                return False
            self._needed[path] = 0
        self._needed[path] += 1
        return True

    def release(self, path: str) -> None:
        """One needs it no longer."""
        self._needed[path] -= 1
        if not self._needed[path]:
            del self._needed[path]
            with suppress(OSError):  # somebody has put something there meanwhile, or has removed it
                os.rmdir(path)
