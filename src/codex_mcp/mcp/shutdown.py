"""The orderly end of a server, over stdio and HTTP alike.

finishing  no call and no turn runs any longer   -> done
finishing  `shutdown_grace` is over, another signal comes,
           or the answers are not read any more  -> stopping: everything is interrupted
stopping   nothing runs, another signal comes,
           or `interrupt_grace` is over          -> done

Then the sessions are closed, then the product, while the core still runs, then the core.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable

from codex_mcp.base.settings.calls import CallSettings
from codex_mcp.base.signals import first
from codex_mcp.base.tasks import TaskSet
from codex_mcp.mcp.session import Session
from codex_mcp.mcp.tools.product import Product
from codex_mcp.threads.questions.decisions import SERVER_STOPPING
from codex_mcp.threads.threads import Threads


class Shutdown:
    def __init__(self, sessions: Callable[[], Iterable[Session]], threads: Threads, settings: CallSettings) -> None:
        self._sessions = sessions
        self._threads = threads
        self._settings = settings
        self._tasks = TaskSet()

    async def run(
        self,
        product: Product,
        signals: asyncio.Queue[int],
        close_sessions: Callable[[], Awaitable[None]] | None = None,
        unread: asyncio.Task[None] | None = None,
    ) -> None:
        """Carry out the whole sequence. `unread` is done once the answers are not read any more."""
        await self.finish(signals, product.longest_grace, unread)
        if close_sessions is not None:
            await close_sessions()
        await self.close(product, signals)

    async def finish(
        self,
        signals: asyncio.Queue[int],
        longest_grace: float = math.inf,
        unread: asyncio.Task[None] | None = None,
    ) -> None:
        """Let what runs end by itself for a while, at most until `unread` is done; then interrupt it."""
        grace = min(self._settings.shutdown_grace, longest_grace)
        for session in self._sessions():
            session.stop_listening()
        for thread in self._threads:
            thread.deny_parked(SERVER_STOPPING)
        await self._threads.quiesce()
        finishing = self._tasks.spawn(self._wait_idle(grace), name="grace")
        await first(finishing, signals, *([] if unread is None else [unread]))
        if not finishing.done() or not finishing.result():
            for session in self._sessions():
                session.cancel_all()
            for thread in self._threads:
                thread.cancel_all()
            stopping = self._tasks.spawn(self._wait_idle(self._settings.interrupt_grace), name="interrupts")
            await first(stopping, signals)

    async def close(self, product: Product, signals: asyncio.Queue[int]) -> None:
        """Close the product, unless another signal comes, then the core."""
        closing = self._tasks.spawn(product.aclose(), name="end of the product")
        await first(closing, signals)
        await self._tasks.aclose()
        await self._threads.aclose()

    async def _wait_idle(self, timeout: float) -> bool:
        try:
            async with asyncio.timeout(timeout):
                for session in self._sessions():
                    await session.wait_idle(timeout)
                for thread in self._threads:
                    for turn in thread.unfinished():
                        await turn.wait()
        except TimeoutError:
            return False
        return True
