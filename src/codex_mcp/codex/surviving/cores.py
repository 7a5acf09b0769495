"""The cores of a server that may outlive it: started or taken over, left or ended, each with its guard."""

from __future__ import annotations

import asyncio

from msgspec import Struct

from codex_mcp.base.blocking import in_thread
from codex_mcp.codex.surviving.link import CoreLink
from codex_mcp.codex.surviving.place import Guard, Place
from codex_mcp.codex.surviving.terms import CannotSurvive, Command, Survival


class Linked(Struct, frozen=True):
    link: CoreLink
    mark: str
    version: str
    is_left: bool
    """An earlier server has left it."""


class SurvivingCores:
    def __init__(self, survival: Survival) -> None:
        self._place = Place(survival)
        self._guard: Guard | None = None
        self._guarded = ""
        """The mark of the processes that are guarded."""
        self._has_looked = False
        self.link: CoreLink | None = None
        """The newest core."""

    @property
    def has_left(self) -> bool:
        """The newest core goes on without us."""
        return self.link is not None and self.link.is_left

    def pids(self) -> set[int]:
        """Our own children besides the core."""
        return set() if self._guard is None else {self._guard.pid}

    async def core(self, command: Command, mark: str) -> Linked:
        """The core that an earlier server has left, or a new one with this mark. Raises CannotSurvive."""
        linked = await self._linked(command, mark)
        self.link = linked.link
        return linked

    async def _linked(self, command: Command, mark: str) -> Linked:
        await in_thread(self._place.take)
        if not self._has_looked:  # what is there later is our own
            self._has_looked = True
            if (left := await self._left(command.patience)) is not None:
                return left
        await self._guard_of(mark)
        link = await self._place.start(command, mark)
        return Linked(link, mark, command.version, is_left=False)

    async def _left(self, timeout: float) -> Linked | None:
        found = await in_thread(self._place.left_core)
        if found is None:
            return None
        record, proven = found
        try:
            link = await self._place.take_over(record, proven, timeout)
        except CannotSurvive:
            return None
        await self._guard_of(record.mark)
        return Linked(link, record.mark, record.version, is_left=True)

    async def _guard_of(self, mark: str) -> None:
        if self._guarded != mark:
            await self._end_guard()
            self._guard = await in_thread(self._place.start_guard, mark)
            self._guarded = mark

    async def core_ended(self, mark: str) -> None:
        """The core with this mark, and all that it had started, is gone."""
        await in_thread(self._place.forget, mark)

    async def leave(self) -> None:
        """Let the core go on without us, for as long as its guard lets it."""
        if self.link is not None:
            await self.link.leave()
        if self._guard is not None:
            self._guard.leave()
            self._guard = None
        self._place.give_up()

    async def aclose(self) -> None:
        """No core is left. Calling it again is fine."""
        await self._end_guard()
        self._place.give_up()

    async def _end_guard(self) -> None:
        guard, self._guard, self._guarded = self._guard, None, ""
        if guard is not None:
            await asyncio.shield(in_thread(guard.end))
