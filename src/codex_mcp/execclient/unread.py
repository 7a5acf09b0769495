"""What has come from the server and was not read: the events of a process, or the pieces of a body."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import Generic, TypeVar

from codex_mcp.execclient.errors import ExecServerError
from codex_mcp.execclient.flow import HELD_BYTES, UNREAD_BYTES, Flow
from codex_mcp.rpc.watermark import Watermark

Item = TypeVar("Item")


class Unread(Generic[Item]):
    """For one reader at a time; a later one continues where the earlier one stopped."""

    def __init__(self, flow: Flow) -> None:
        self.failure: ExecServerError | None = None
        self.is_over = False
        """Nothing more comes. What is here can still be read."""
        self._flow = flow
        self._items: deque[tuple[Item, int]] = deque()
        self._bytes = 0
        self._mark = Watermark(HELD_BYTES, HELD_BYTES, flow.filled, flow.emptied)
        self._news = asyncio.Event()

    @property
    def is_too_much(self) -> bool:
        """More is unread than is kept."""
        return self._bytes > UNREAD_BYTES

    def add(self, item: Item, size: int) -> None:
        self._items.append((item, size))
        self._bytes += size
        self._told()

    def end(self, failure: ExecServerError | None = None) -> None:
        """With a failure, which the reader gets in the end. May be called again, which changes nothing."""
        if not self.is_over:
            self.is_over, self.failure = True, failure
            self._told()

    def drop(self) -> None:
        """Nobody reads it any longer."""
        self._items.clear()
        self._bytes = 0
        self.end()

    async def read(self) -> AsyncIterator[Item]:
        """Each item once, in order. Raises the failure."""
        while True:
            while self._items:
                item, size = self._items.popleft()
                self._bytes -= size
                self._hold()
                yield item
            if self.failure is not None:
                raise self.failure
            if self.is_over:
                return
            self._news.clear()
            with self._flow.waiting():
                await self._news.wait()

    def _told(self) -> None:
        self._hold()
        self._news.set()

    def _hold(self) -> None:
        self._mark.level(0 if self.is_over else self._bytes)
