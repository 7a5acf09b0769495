"""Gates: places in a script where the model waits until somebody lets it go on.

A gate is shut until it is opened, and then stays open for everyone until it is shut again.
"""

import asyncio
from collections import Counter
from pathlib import Path

FILE_POLL = 0.02
"""Seconds between two looks for a gate's file: soon enough for a person and for a test, and no load."""


class Gates:
    """All gates of one scripted model, by name. A name that nobody has used is a shut gate."""

    def __init__(self) -> None:
        self._open: set[str] = set()
        self._waiting: Counter[str] = Counter()
        self._changed = asyncio.Event()

    def open(self, name: str) -> None:
        """Let everyone through who waits here, and everyone who comes."""
        self._open.add(name)
        self._tell()

    def shut(self, name: str) -> None:
        """Hold everyone who comes from now on."""
        self._open.discard(name)

    def waiting(self) -> dict[str, int]:
        """How many wait at each gate."""
        return {name: number for name, number in self._waiting.items() if number}

    async def pass_through(self, name: str, file: str | None) -> None:
        """Wait until the gate is open or the file is there."""
        self._waiting[name] += 1
        self._tell()
        try:
            while name not in self._open and not _exists(file):
                await self._wait_for_change(None if file is None else FILE_POLL)
        finally:
            self._waiting[name] -= 1
            self._tell()

    async def wait_for(self, name: str, number: int) -> None:
        """Wait until at least `number` wait at this gate."""
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
