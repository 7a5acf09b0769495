"""Rows of a topic that are looked at every now and then: those that differ are told; only while someone follows."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from codex_mcp.base.tasks import TaskSet

Row: TypeAlias = Mapping[str, object]
"""What a follower is told of one thing, named by its `key`."""

Look: TypeAlias = Callable[[], Awaitable[Mapping[str, Row]]]
"""All rows as they are now, by their keys. It must not raise."""


class RowsWatch:
    def __init__(self, look: Look, every: float, tell: Callable[[Row], None]) -> None:
        self._look = look
        self._every = every
        self._tell = tell
        self._known: Mapping[str, Row] = {}
        self._tasks = TaskSet()

    async def rows(self) -> list[Row]:
        """All, as they are now."""
        self._known = await self._look()
        return list(self._known.values())

    def begin(self) -> Callable[[], None]:
        """Tell each row that differs from the last one, until the returned function is called."""
        looking = self._tasks.spawn(self._run(), name="rows that are followed")

        def stop() -> None:
            looking.cancel()

        return stop

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._every)
            before, self._known = self._known, await self._look()
            for key, row in self._known.items():
                if before.get(key) != row:
                    self._tell(row)
            for key in before:
                if key not in self._known:
                    self._tell({"key": key, "is_here": False})
