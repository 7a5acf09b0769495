"""The process of a core, as those see it who speak with it: it can be given up, and its end has a reason."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from codex_mcp.base.futures import resolve
from codex_mcp.codex.core import CoreLost

logger = logging.getLogger(__name__)


class CoreProcess:
    """Shared by the conversation with a core and the supervisor of its process."""

    def __init__(self, pid: int, end: Callable[[], None]) -> None:
        self.pid = pid
        self.fault = ""
        """Why it was given up, if it was: what it did or failed to do."""
        self._end = end
        self._lost: asyncio.Future[CoreLost] = asyncio.get_running_loop().create_future()

    def __repr__(self) -> str:
        return f"<CoreProcess {self.pid} {self.fault}>"

    def give_up(self, fault: str) -> None:
        """End it: it cannot be relied on any longer. The first fault is the one that is told."""
        if not self.fault and not self._lost.done():
            logger.error("core %d is ended: it %s", self.pid, fault)
            self.fault = fault
            self._end()

    def lost(self, reason: CoreLost) -> None:
        """It has ended, and this is how."""
        resolve(self._lost, reason)

    async def why_lost(self) -> CoreLost:
        """How it ended: known some moments after its stdout was closed, when the supervisor has waited for it."""
        return await asyncio.shield(self._lost)
