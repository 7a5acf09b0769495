"""A stream that somebody reads along: wait for what is new."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from codex_mcp.base.settings import SlowReader
from codex_mcp.mcp.stream import MOST_BYTES, Batch, Stream
from codex_mcp.threads.watchers import tell
from codex_mcp.wire.jsonrpc import encode_notification

DROPPED_METHOD: Final = "codex/dropped"
"""The marker for a reader that was too slow: how many messages it has missed."""


class LiveStream:
    """One stream, and at most one who reads it: who comes last."""

    __slots__ = ("_reader", "_waiter", "ended", "missed", "name", "on_end", "stream")

    def __init__(
        self,
        name: str,
        max_messages: int,
        max_bytes: int,
        policy: SlowReader = SlowReader.DROP_OLDEST,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self.name = name
        self.stream = Stream(max_messages, max_bytes, policy, most_bytes)
        self.ended = False
        """Nothing more will come."""
        self.missed = 0
        """Messages that its readers did not get."""
        self.on_end: Callable[[], None] | None = None
        """Called when nothing more will come."""
        self._waiter: asyncio.Future[None] | None = None
        self._reader = 0

    def __repr__(self) -> str:
        return f"<LiveStream {self.name} {self.stream!r}{' ended' if self.ended else ''}>"

    def put(self, frame: bytes, *, vital: bool = False, final: bool = False) -> None:
        """Add a message; after a final one, or when its reader is too slow for good, nothing follows."""
        stream = self.stream
        if stream.overrun:
            return
        stream.put(frame, vital=vital or final)
        if final or stream.overrun:
            self.end()
        else:
            self._wake()

    @property
    def overrun(self) -> bool:
        """Its reader was too slow for good: it gets what there is, and has to go."""
        return self.stream.overrun

    def end(self) -> None:
        """Nothing more will come."""
        self.ended = True
        self._wake()
        if self.on_end is not None:
            self.on_end()

    def new_reader(self) -> Callable[[], bool]:
        """Somebody begins to read; whoever did before has been cut off, or should stop. The answer tells if it is."""
        self._reader += 1
        self._wake()
        reader = self._reader
        return lambda: self._reader != reader

    def poke(self) -> None:
        """Let whoever waits look around: not for a message, but because something else has changed."""
        self._wake()

    async def take(self, number: int, patience: float | None = None) -> Batch:
        """Wait for messages after this number; none come if the stream has ended, or when patience does."""
        self.stream.read(number)
        if self.stream.last <= number and not self.ended:
            await self._wait(patience)
        batch = self.stream.after(number)
        self.missed += batch.dropped
        return batch

    async def _wait(self, patience: float | None) -> None:
        # Every call and every open stream waits here; asyncio.timeout would take as long again, and 500 bytes more.
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()
        self._waiter = waiter
        timer = None if patience is None else loop.call_later(patience, tell, waiter)
        try:
            await waiter
        finally:
            if timer is not None:
                timer.cancel()
            if self._waiter is waiter:
                self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None:
            tell(self._waiter)


def dropped_marker(count: int) -> bytes:
    """The message that tells a reader how many others it has missed."""
    return encode_notification(DROPPED_METHOD, {"count": count})
