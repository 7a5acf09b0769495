"""A limit for the bytes of large answers that clients have not read yet, over all connections of a server.

A large file is read only once its bytes fit; until then its request waits, and with it whatever waits for the request
by the rules of its connection. A file larger than the limit is read if nothing else is held.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import Final

from codex_mcp.execserver.errors import internal_error

MAX_UNREAD_BYTES: Final = 256 * 1024 * 1024
"""Of file contents; as base64 they take a third more."""

PATIENCE: Final = 60.0
"""Seconds that a request waits for others to be read. After that, some client has stopped reading."""


@dataclass(frozen=True, slots=True)
class HeldAnswer:
    """A result whose bytes are held. Whoever sends it gives them back once they are read."""

    result: object
    size: int


class AnswerBudget:
    """The bytes that are held for answers, and the requests that wait for theirs, in their order."""

    def __init__(self, limit: int = MAX_UNREAD_BYTES, patience: float = PATIENCE) -> None:
        self._limit = limit
        self._patience = patience
        self._held = 0
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    def __repr__(self) -> str:
        return f"<AnswerBudget {self._held} of {self._limit} bytes, {len(self._waiting)} requests wait>"

    async def take(self, size: int) -> None:
        """Wait until this many bytes fit, and hold them. Raises RequestFailed if that takes too long."""
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
                text = f"the file was not read: answers of {self._held} bytes wait for clients to read them"
                raise internal_error(f"{text}; try again later") from None
            raise

    def _give_up(self, size: int, turn: asyncio.Future[None]) -> None:
        if turn.cancelled():
            self._waiting.remove((size, turn))
            self._let_in()
        else:
            self.give_back(size)  # its turn had just come

    def give_back(self, size: int) -> None:
        """Bytes that were held have been read, or nobody will read them."""
        self._held -= size
        self._let_in()

    def _fits(self, size: int) -> bool:
        return not self._held or self._held + size <= self._limit

    def _let_in(self) -> None:
        while self._waiting and self._fits(self._waiting[0][0]):
            size, turn = self._waiting.popleft()
            self._held += size
            turn.set_result(None)
