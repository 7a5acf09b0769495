"""Stopping a turn: the turn itself, the commands that it leaves running, and the folders that those leave behind.

A caller that cancels a turn waits for its end no longer than the grace period, whatever the core does.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from functools import partial
from typing import Final, Protocol

from codex_mcp.base.futures import resolve
from codex_mcp.base.logs import about_only
from codex_mcp.base.processes.marks import variables
from codex_mcp.base.tasks import TaskSet
from codex_mcp.codex.core import Core, CoreError
from codex_mcp.threads.stopping.left_processes import CALL, THREAD, Belongs, belongs
from codex_mcp.threads.stopping.sandbox_leftovers import SandboxLeftovers
from codex_mcp.threads.turn import Turn
from codex_mcp.threads.turn_queue import Action, TurnQueue, TurnQueueState

logger = logging.getLogger(__name__)

COMMAND_GRACE: Final = 5.0
"""Seconds for the core to kill the commands of an interrupted turn. It usually takes some hundredths of a second."""

WAKING_GRACE: Final = 10.0
"""Seconds for a core that answered late to announce the turn and to end it. Only the turns behind it wait for that."""

COMMANDS_REMEMBERED: Final = 10_000
"""Commands of earlier turns of a thread. A process of an older command would count as the stopped turn's."""

STILL_RUNNING: Final = (
    "Codex is still busy with a turn of this thread that was stopped and did not end; "
    "try again in a while, or start a new thread"
)


class Cores(Protocol):
    """Provides the core, and ends the processes that its commands leave behind."""

    async def core(self) -> Core:
        """The running core, started if necessary."""

    def orphans(self) -> set[int]:
        """Orphaned processes of commands, which this server has adopted."""

    async def end_orphans(self, is_meant: Callable[[int], bool]) -> None:
        """End the orphans for which `is_meant` is true."""

    async def end_commands(self, is_meant: Callable[[int], bool]) -> int:
        """End the command processes for which `is_meant` is true, orphans or not. Return how many there were."""


class Stopper:
    """Stops the turns of one thread. The queue decides, and `perform` carries out its actions."""

    def __init__(
        self,
        queue: TurnQueue,
        perform: Callable[[list[Action]], None],
        cores: Cores,
        folder: str,
        grace: float,
    ) -> None:
        self._queue = queue
        self._perform = perform
        self._cores = cores
        self._leftovers = SandboxLeftovers(folder)
        self._grace = grace
        self._waking_grace = max(grace, WAKING_GRACE)
        self._tasks = TaskSet()
        self._interrupting: set[asyncio.Task[None]] = set()
        self._begun: Turn | None = None
        self._earlier: dict[str, None] = {}  # commands of earlier turns, oldest first

    def left(self, turn: Turn) -> None:
        """The turn has ended: from now on its commands belong to an earlier turn."""
        self._earlier |= dict.fromkeys(turn.record.commands)
        while len(self._earlier) > COMMANDS_REMEMBERED:
            del self._earlier[next(iter(self._earlier))]

    async def prepare(self, turn: Turn) -> None:
        """Before a turn starts: wait, up to the grace period, until the commands of a stopped one have ended."""
        if self._interrupting:
            await asyncio.wait(self._interrupting, timeout=self._grace)
        self._begun = turn

    def note_folders(self) -> None:
        self._leftovers.look()

    def begin(self, turn: Turn) -> None:
        stopped = turn.begin_stop()
        stopping = self._tasks.spawn(self._stop(turn, stopped), name=f"interrupt in {turn.thread_id}")
        # The task may be cancelled before its first step; the caller must still be told of the end.
        stopping.add_done_callback(lambda _: resolve(stopped, None))

    def remind(self, turn: Turn) -> None:
        """Limit the wait for a turn that must start before it can be stopped."""
        turn.limit_time(self._grace, partial(self._overdue, turn))

    def _overdue(self, turn: Turn) -> None:
        actions = self._queue.overdue(turn.place)
        if actions:
            with about_only(turn.subject):
                logger.warning("a turn was not stopped within %g s: Codex is slow to begin it", self._grace)
        self._perform(actions)

    async def see_to_end(self, turn: Turn) -> None:
        """The core has accepted a turn that is being stopped: make sure that it does not keep its place."""
        await self._wait_for_end(turn, self._waking_grace)

    async def _wait_for_end(self, turn: Turn, patience: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await turn.left.wait()
        if turn.place.state is not TurnQueueState.ENDED:
            with about_only(turn.subject):
                logger.warning("a turn did not end within %g s of its interrupt", patience)
            self._perform(self._queue.given_up(turn.place))

    async def _stop(self, turn: Turn, stopped: asyncio.Future[None]) -> None:
        clock = asyncio.get_running_loop().time
        deadline = clock() + (self._waking_grace if turn.ended else self._grace)
        if turn.core is not None:
            # If the core takes longer to answer, the commands are still killed, but the caller no longer waits.
            interrupting = self._tasks.spawn(
                self._interrupt(turn.core, turn), name=f"end of commands in {turn.thread_id}"
            )
            self._interrupting.add(interrupting)
            interrupting.add_done_callback(self._interrupting.discard)
            await asyncio.wait([interrupting], timeout=deadline - clock())
        resolve(stopped, None)
        await self._wait_for_end(turn, max(0.0, deadline - clock()))

    async def _interrupt(self, core: Core, turn: Turn) -> None:
        """Interrupt a turn and end its commands. The core announces the end of the turn separately."""
        already_orphans = self._cores.orphans()
        await self._until_interrupted(core, turn)
        if turn.record.running_commands:
            with contextlib.suppress(CoreError, TimeoutError):
                async with asyncio.timeout(COMMAND_GRACE):
                    await _end_commands(core, turn)
        # Even without a known command: the core may have been interrupted before it announced one.
        ended = await self._cores.end_commands(lambda pid: self._origin(pid, turn) is Belongs.TO_TURN)
        await self._cores.end_orphans(lambda pid: self._leaves(turn, pid, is_new=pid not in already_orphans))
        if ended or turn.record.commands:
            self._leftovers.clean()

    async def _until_interrupted(self, core: Core, turn: Turn) -> None:
        """Codex may never answer an interrupt that comes after the end of a turn, for instance a second one."""
        stopping = self._tasks.spawn(_interrupt(core, turn), name=f"interrupt of a turn in {turn.thread_id}")
        left = self._tasks.spawn(turn.left.wait(), name=f"end of a turn in {turn.thread_id}")
        try:
            await asyncio.wait([stopping, left], return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
            left.cancel()

    def _leaves(self, turn: Turn, pid: int, *, is_new: bool) -> bool:
        """Whether the turn left this orphan. Without marks, it must have appeared while the turn's commands ended."""
        origin = self._origin(pid, turn)
        return origin is Belongs.TO_TURN or (origin is Belongs.UNKNOWN and is_new and bool(turn.record.commands))

    def _origin(self, pid: int, turn: Turn) -> Belongs:
        # Until the next turn begins, a command that has not been announced can only be this turn's.
        is_last = self._begun is turn
        mark = variables(pid, (THREAD, CALL))
        return belongs(mark, turn.thread_id, turn.record.commands, self._earlier if is_last else None)

    async def aclose(self) -> None:
        await self._tasks.aclose()


async def _interrupt(core: Core, turn: Turn) -> None:
    with contextlib.suppress(CoreError):
        await core.interrupt_turn(turn.thread_id, turn.inner_id or turn.place.turn_id)


async def _end_commands(core: Core, turn: Turn) -> None:
    """Kill the running commands of this turn: an interrupt leaves them running as background commands."""
    running = await core.running_commands(turn.thread_id)
    killed = {item: process for item, process in running.items() if item in turn.record.running_commands}
    for process in killed.values():
        await core.terminate_command(turn.thread_id, process)
    # Once the core has seen a command die, all children that it leaves are orphans of ours.
    while killed.keys() & set(turn.record.running_commands):
        turn.item_ended.clear()
        await turn.item_ended.wait()
