"""Futures of those who wait for one of several things: done directly by whatever happens first.

`asyncio.wait` would do as well, and takes two passes of the event loop more for each end of a turn.
"""

from __future__ import annotations

import asyncio
from typing import TypeAlias

Watcher: TypeAlias = asyncio.Future[None]
"""May be given to several; each sets it once at most, and who made it may cancel it."""


class Watchers:
    """Those who wait for the same thing."""

    def __init__(self) -> None:
        self._waiting: list[Watcher] = []

    def add(self, watcher: Watcher) -> None:
        """Tell this one, too. Those who wait no longer are forgotten."""
        self._waiting = [each for each in self._waiting if not each.done()]
        self._waiting.append(watcher)

    def tell(self) -> None:
        """It has happened."""
        waiting, self._waiting = self._waiting, []
        for watcher in waiting:
            tell(watcher)


def tell(watcher: Watcher) -> None:
    """It has happened, for this one; unless it has heard so before, or does not wait any longer."""
    if not watcher.done():
        watcher.set_result(None)
