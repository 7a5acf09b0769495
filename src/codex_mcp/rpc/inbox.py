"""The messages of a channel that have arrived, until they are received."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from codex_mcp.base.futures import resolve
from codex_mcp.rpc.watermark import Watermark

MESSAGE_COST: Final = 64
"""Bytes of memory for each message, besides its own: it may have one byte, or none."""


class Inbox:
    """For one reader. Above `high` bytes `full` is called, and `has_room` when they have been taken."""

    def __init__(self, high: int, full: Callable[[], None], has_room: Callable[[], None]) -> None:
        self._messages: list[bytes] = []
        self._bytes = 0
        self._mark = Watermark(high, 0, full, has_room)
        self._news: asyncio.Future[None] | None = None
        self._is_over = False

    def add(self, messages: Sequence[bytes]) -> None:
        self._messages += messages
        self._bytes += sum(map(len, messages)) + MESSAGE_COST * len(messages)
        self._mark.level(self._bytes)
        resolve(self._news, None)

    def end(self) -> None:
        """Nothing more comes; what is here can still be taken."""
        self._is_over = True
        resolve(self._news, None)

    async def take(self) -> Sequence[bytes]:
        """All messages, at least one; none at the end."""
        while not self._messages and not self._is_over:
            self._news = asyncio.get_running_loop().create_future()
            await self._news
        messages, self._messages, self._bytes = self._messages, [], 0
        self._mark.level(0)
        return messages
