"""A limit on the bytes of large answers that clients have not read yet, over all connections of a server.

A large file is read only once its bytes fit; until then its request waits, and so do the requests queued behind it. A
file larger than the limit is read when no other bytes are held.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

from msgspec import Struct

from codex_mcp.execserver.errors import internal_error

MAX_UNREAD_BYTES: Final = 256 * 1024 * 1024
"""Of file contents; base64 takes a third more."""

PATIENCE: Final = 60.0
"""Seconds that a request waits. After that, some client has probably stopped reading."""


class HeldAnswer(Struct, frozen=True):
    """A result with the bytes held for it. Its sender gives them back once they are read."""

    result: object
    size: int


class AnswerBudget:
    """The bytes held for answers, and the requests that wait for theirs, in order."""

    def __init__(self, limit: int = MAX_UNREAD_BYTES, patience: float = PATIENCE) -> None:
        self._limit = limit
        self._patience = patience
        self._held = 0
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    def __repr__(self) -> str:
        return f"<AnswerBudget {self._held} of {self._limit} bytes, {len(self._waiting)} requests wait>"

    async def take(self, size: int) -> None:
        """Wait until this many bytes fit, and hold them. Raises RequestFailed on a timeout."""
        if not self._waiting and self._fits(size):
            self._held += size
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((size, turn))
        try:
            async with asyncio.timeout(self._patience):
                await turn
        except BaseException as exc:
            self._give_up(size, turn)
            if isinstance(exc, TimeoutError):
                text = f"cannot read the file: clients have not read answers of {self._held} bytes; try again later"
                raise internal_error(text) from None
            raise

    def _give_up(self, size: int, turn: asyncio.Future[None]) -> None:
        if turn.cancelled():
            self._waiting.remove((size, turn))
            self._let_in()
        else:
            self.give_back(size)  # granted just before

    def give_back(self, size: int) -> None:
        """Held bytes have been read, or never will be."""
        self._held -= size
        self._let_in()

    def _fits(self, size: int) -> bool:
        return not self._held or self._held + size <= self._limit

    def _let_in(self) -> None:
        while self._waiting and self._fits(self._waiting[0][0]):
            size, turn = self._waiting.popleft()
            self._held += size
            turn.set_result(None)
