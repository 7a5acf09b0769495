"""Opens threads that an earlier server has left in a core that outlived it, with their turns.

First it subscribes, then it compares: the answer is the past, what comes after it is the rest. What is asked before the
thread is open here waits for that. A prompt that was sent and is not there is looked for once more, a second later,
before it is sent again.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final, Protocol

from codex_mcp.codex.app_server import AppServer
from codex_mcp.codex.conversation.rejoining import counted, is_active, rejoin_thread
from codex_mcp.codex.core import Core, CoreError, OpenedThread, ThreadSpec
from codex_mcp.threads.left.taking_back import TakingBack
from codex_mcp.threads.left.turns import LeftTurns
from codex_mcp.threads.loading import Early

SURE: Final = 1.0
"""Seconds after which a prompt that Codex was sent is in its thread. It took 35 ms at most."""


class Cores(Protocol):
    async def core(self) -> Core:
        """The running core."""


class Opens(Protocol):
    """All threads."""

    early: Early

    @property
    def supervisor(self) -> Cores: ...

    def thread_rejoined(self, opened: OpenedThread, spec: ThreadSpec, core: Core, principal: str) -> Any:
        """A thread that is open from now on. What was said of it meanwhile is not told yet."""

    def catch_up(self, thread: Any) -> None:
        """Tell a thread what was said of it meanwhile."""


class Rejoining:
    def __init__(self, threads: Opens, approval_timeout: float) -> None:
        """`approval_timeout`: seconds for what their turns ask."""
        self._threads = threads
        self._approval_timeout = approval_timeout

    async def rejoin(self, thread_id: str, principal: str, spec: ThreadSpec, left: LeftTurns) -> Any:
        """The thread, with these turns of an earlier server. Raises CoreError."""
        core = await self._threads.supervisor.core()
        if not isinstance(core, AppServer):
            raise CoreError("an old Codex does not outlive its server")
        with self._threads.early.rejoining(thread_id):
            thread, back = await self._open(core, thread_id, principal, spec, left)
        if back.is_uncertain:
            await asyncio.sleep(SURE)
            back.look((await rejoin_thread(core, thread_id)).turns, await counted(core, thread_id))
        return thread

    async def _open(
        self, core: AppServer, thread_id: str, principal: str, spec: ThreadSpec, left: LeftTurns
    ) -> tuple[Any, TakingBack]:
        runs = await is_active(core, thread_id)
        opened = None if runs else await core.resume_thread(thread_id, spec)
        rejoined = await rejoin_thread(core, thread_id)
        count = None if runs else await counted(core, thread_id)
        thread = self._threads.thread_rejoined(opened or rejoined.opened, spec, core, principal)
        back = TakingBack(thread, core, self._approval_timeout)
        back.take(left, rejoined.turns, count)
        self._threads.catch_up(thread)
        return thread, back
