"""How the core is made to stop a turn: the turn itself, the commands that it leaves running, and what those leave."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection
from typing import Final, Protocol

from codex_mcp.codex.core import Core, CoreError
from codex_mcp.threads.litter import Litter
from codex_mcp.threads.turn import Turn

COMMAND_GRACE: Final = 5.0
"""Seconds for the core to kill the commands of an interrupted turn, which takes it a few hundredths."""


class Cores(Protocol):
    """Where the core comes from, and who buries what its commands leave."""

    async def core(self) -> Core:
        """Return the running core; start one if there is none."""

    def orphans(self) -> set[int]:
        """Processes that commands have left to us."""

    async def end_orphans(self, spared: Collection[int] = ()) -> None:
        """End them."""


async def interrupt(core: Core, turn: Turn, cores: Cores, litter: Litter) -> None:
    """Stop a turn and kill its commands. Whether it has ended is another matter: the core announces that."""
    already_orphans = cores.orphans()
    with contextlib.suppress(CoreError):
        await core.interrupt_turn(turn.thread_id, turn.place.turn_id)
    if not turn.record.running_commands:
        return
    with contextlib.suppress(CoreError, TimeoutError):
        async with asyncio.timeout(COMMAND_GRACE):
            await _end_commands(core, turn)
    await cores.end_orphans(spared=already_orphans)
    litter.clean()


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


def release(waiting: asyncio.Future[None]) -> None:
    """Let go whoever waits for this, unless that has happened."""
    if not waiting.done():
        waiting.set_result(None)
