"""How the core is made to stop a turn: the turn itself, the commands that it leaves running, and what those leave.

Whoever takes a turn back waits for its end no longer than the grace, whatever the core does or does not do.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Collection
from functools import partial
from typing import Final, Protocol

from codex_mcp.base.logs import about_only
from codex_mcp.base.marks import CALL, THREAD, variables
from codex_mcp.base.tasks import TaskSet
from codex_mcp.codex.core import Core, CoreError
from codex_mcp.threads.litter import Litter
from codex_mcp.threads.turn import Turn
from codex_mcp.threads.turns import Action, State, TurnQueue
from codex_mcp.threads.watchers import tell

logger = logging.getLogger(__name__)

COMMAND_GRACE: Final = 5.0
"""Seconds for the core to kill the commands of an interrupted turn, which takes it a few hundredths."""

WAKING_GRACE: Final = 10.0
"""Seconds for a core that has answered late to announce the turn and to end it, which takes it some hundredths. Nobody
waits for that but the turns behind it."""


STILL_RUNNING: Final = (
    "Codex is still busy with a turn of this thread that was stopped and did not end; "
    "try again in a while, or start a new thread"
)
"""Why the next turn cannot begin."""


class Cores(Protocol):
    """Where the core comes from, and who buries what its commands leave."""

    async def core(self) -> Core:
        """Return the running core; start one if there is none."""

    def orphans(self) -> set[int]:
        """Processes that commands have left to us."""

    async def end_orphans(self, spared: Collection[int] = ()) -> None:
        """End them."""


class Stopper:
    """Stops the turns of one thread. The queue decides, and `perform` does what it says."""

    def __init__(
        self,
        queue: TurnQueue,
        perform: Callable[[list[Action]], None],
        cores: Cores,
        litter: Litter,
        grace: float,
    ) -> None:
        self._queue = queue
        self._perform = perform
        self._cores = cores
        self._litter = litter
        self._grace = grace
        self._waking_grace = max(grace, WAKING_GRACE)
        self._tasks = TaskSet()

    def begin(self, turn: Turn) -> None:
        """Interrupt a turn, and see that it ends."""
        stopped = turn.stopped = asyncio.get_running_loop().create_future()
        stopping = self._tasks.spawn(self._stop(turn, stopped), name=f"interrupt in {turn.thread_id}")
        # Should it be cancelled before its first step, whoever waits for the turn hears of its end all the same.
        stopping.add_done_callback(lambda _: tell(stopped))

    def remind(self, turn: Turn) -> None:
        """Let nobody wait too long for a turn that has to begin before it can be stopped."""
        turn.limit_time(partial(self._overdue, turn), self._grace)
        turn.wait_no_longer()

    def _overdue(self, turn: Turn) -> None:
        actions = self._queue.overdue(turn.place)
        if actions:
            with about_only(turn.subject):
                logger.warning("a turn was not stopped within %g s: Codex is slow to begin it", self._grace)
        self._perform(actions)

    async def see_to_end(self, turn: Turn) -> None:
        """A turn that somebody wants to stop has been taken by the core: let it not keep its place for ever."""
        await self._wait_for_end(turn, self._waking_grace)

    async def _wait_for_end(self, turn: Turn, patience: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await turn.left.wait()
        if turn.place.state is not State.ENDED:
            with about_only(turn.subject):
                logger.warning("a turn did not end within %g s of its interrupt", patience)
            self._perform(self._queue.given_up(turn.place))

    async def _stop(self, turn: Turn, stopped: asyncio.Future[None]) -> None:
        """Interrupt a turn, kill the commands that it leaves running, and wait for its end."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + (self._waking_grace if turn.ended else self._grace)
        if turn.core is not None:
            # Should the core take longer to answer, the commands are killed all the same; only nobody waits for it.
            interrupting = self._tasks.spawn(
                interrupt(turn.core, turn, self._cores, self._litter), name=f"end of commands in {turn.thread_id}"
            )
            await asyncio.wait([interrupting], timeout=deadline - clock())
        tell(stopped)
        await self._wait_for_end(turn, max(0.0, deadline - clock()))

    async def aclose(self) -> None:
        """Stop nothing any longer."""
        await self._tasks.aclose()


async def interrupt(core: Core, turn: Turn, cores: Cores, litter: Litter) -> None:
    """Stop a turn and kill its commands. Whether it has ended is another matter: the core announces that."""
    already_orphans = cores.orphans()
    with contextlib.suppress(CoreError):
        await core.interrupt_turn(turn.thread_id, turn.place.turn_id)
    if not turn.record.commands:
        return
    if turn.record.running_commands:
        with contextlib.suppress(CoreError, TimeoutError):
            async with asyncio.timeout(COMMAND_GRACE):
                await _end_commands(core, turn)
    # Looked at only now: a process that was becoming another program had no environment for a moment.
    await cores.end_orphans(spared={pid for pid in already_orphans if not _is_left_by(pid, turn)})
    litter.clean()


def _is_left_by(pid: int, turn: Turn) -> bool:
    """Did a command of this turn start it, and detach it?"""
    mark = variables(pid, (THREAD, CALL))
    return mark.get(THREAD) == turn.thread_id and mark.get(CALL) in turn.record.commands


async def _end_commands(core: Core, turn: Turn) -> None:
    """Kill what runs for this turn: an interrupt leaves its commands running, which the core calls background."""
    running = await core.running_commands(turn.thread_id)
    killed = {item: process for item, process in running.items() if item in turn.record.running_commands}
    for process in killed.values():
        await core.terminate_command(turn.thread_id, process)
    # Only once the core has seen a command die are the children that it leaves to us all there.
    while killed.keys() & set(turn.record.running_commands):
        turn.item_ended.clear()
        await turn.item_ended.wait()
