"""Holds the connection's reader back while a process's output waits to be read, so that its child is slowed down.

One connection carries all processes and all answers. Therefore the reader is held only while nobody at all waits for
something from the wire: neither a call for its answer nor a reader for its process's next event. A deadlock is not
possible, and a reader that is merely slow costs its process no output.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Final

HELD_BYTES: Final = 1 << 20
"""Unread output of one process from which on the reader may be held: as much as a server retains of it."""

UNREAD_BYTES: Final = 64 << 20
"""Unread output of one process that we keep while others need the connection. Beyond it, that process fails."""


class Flow:
    """Who waits for the wire, and who has had enough of it."""

    def __init__(self) -> None:
        self._waiting = 0
        self._full = 0
        self._may_read = asyncio.Event()
        self._may_read.set()

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """Somebody waits for something that only reading can bring."""
        self._waiting += 1
        self._decide()
        try:
            yield
        finally:
            self._waiting -= 1
            self._decide()

    def filled(self) -> None:
        """A process's unread output has passed HELD_BYTES."""
        self._full += 1
        self._decide()

    def emptied(self) -> None:
        """It is below it again, or nobody will ever read it."""
        self._full -= 1
        self._decide()

    async def pace(self) -> None:
        """Return when the next message may be read."""
        await self._may_read.wait()

    def _decide(self) -> None:
        if self._full and not self._waiting:
            self._may_read.clear()
        else:
            self._may_read.set()
