"""Gates: points in a script where the model waits until they are opened.

A gate is shut at first. Once opened, it stays open for all threads until it is shut again.
"""

import asyncio
from collections import Counter
from pathlib import Path

FILE_POLL = 0.02
"""Seconds between two checks for a gate's file: soon enough for people and tests, and cheap."""


class Gates:
    """All gates of one scripted model, by name. An unknown name is a shut gate."""

    def __init__(self) -> None:
        self._open: set[str] = set()
        self._waiting: Counter[str] = Counter()
        self._changed = asyncio.Event()

    def open(self, name: str) -> None:
        self._open.add(name)
        self._tell()

    def shut(self, name: str) -> None:
        self._open.discard(name)

    def waiting(self) -> dict[str, int]:
        """How many responses wait at each gate."""
        return {name: number for name, number in self._waiting.items() if number}

    async def pass_through(self, name: str, file: str | None) -> None:
        self._waiting[name] += 1
        self._tell()
        try:
            while name not in self._open and not _exists(file):
                await self._wait_for_change(None if file is None else FILE_POLL)
        finally:
            self._waiting[name] -= 1
            self._tell()

    async def wait_for(self, name: str, number: int) -> None:
        while self._waiting[name] < number:
            await self._wait_for_change(None)

    async def _wait_for_change(self, patience: float | None) -> None:
        try:
            async with asyncio.timeout(patience):
                await self._changed.wait()
        except TimeoutError:
            return

    def _tell(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


def _exists(file: str | None) -> bool:
    return file is not None and Path(file).exists()
