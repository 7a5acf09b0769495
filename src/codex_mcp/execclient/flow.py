"""Backpressure: stops reading from the connection while a process's output is unread, so that the process slows down.

One connection carries all processes and all answers. Reading therefore stops only while nothing waits for a message:
neither a call for its answer nor a reader for its next event. So there can be no deadlock, and a slow reader loses no
output.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Final

HELD_BYTES: Final = 1 << 20
"""Unread output of one process above which reading may stop: as much as a server retains."""

UNREAD_BYTES: Final = 64 << 20
"""Unread output of one process that is kept while others need the connection. Beyond it, that process fails."""


class Flow:
    def __init__(self) -> None:
        self._waiting = 0
        self._full = 0
        self._may_read = asyncio.Event()
        self._may_read.set()

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """While the caller waits for a message."""
        self._waiting += 1
        self._decide()
        try:
            yield
        finally:
            self._waiting -= 1
            self._decide()

    def filled(self) -> None:
        """A process's unread output exceeds HELD_BYTES."""
        self._full += 1
        self._decide()

    def emptied(self) -> None:
        """A process's unread output is below HELD_BYTES again, or will never be read."""
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
