"""Notices that the other end of a socket on which we only write is gone, also while nothing is written."""

from __future__ import annotations

import asyncio
import os
import select
from collections.abc import Callable


class HangUpWatch:
    """Calls `gone` once when the other end is closed. One that has only said that it will not write is still there."""

    def __init__(self, descriptor: int, gone: Callable[[], None]) -> None:
        self._gone = gone
        self._loop = asyncio.get_running_loop()
        self._descriptor = os.dup(descriptor)  # the transport of the socket has the other one
        self._loop.add_reader(self._descriptor, self._look)

    def _look(self) -> None:
        poll = select.poll()
        poll.register(self._descriptor, 0)  # a hang-up is told without being asked for
        is_gone = any(events & (select.POLLHUP | select.POLLERR) for _, events in poll.poll(0))
        self.close()  # else it is half-closed, or writes to us: there is nothing more to learn but by writing
        if is_gone:
            self._gone()

    def close(self) -> None:
        """Watch no longer. Twice is fine."""
        if self._descriptor >= 0:
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1
