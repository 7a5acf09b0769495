"""A stream that somebody reads along: wait for what is new."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from codex_mcp.base.futures import resolve
from codex_mcp.base.settings.kinds import SlowReader
from codex_mcp.mcp.http.streams.backlog import LAG, Backlog
from codex_mcp.mcp.http.streams.stream import MOST_BYTES, Batch, Stream
from codex_mcp.rpc.codec import encode_notification

DROPPED_METHOD: Final = "codex/dropped"
"""The marker for a reader that was too slow: how many messages it has missed."""

BATCH_BYTES: Final = 64 * 1024
"""Taken at a time. A reader that takes less than this in `LAG` seconds lags."""


class Delivery:
    """What the streams of one session share."""

    __slots__ = ("backlog", "missed", "most_bytes")

    def __init__(self, most_bytes: int = MOST_BYTES, backlog: Backlog | None = None) -> None:
        self.most_bytes = most_bytes
        """What may be kept for one reader."""
        self.backlog = backlog or Backlog()
        self.missed = 0
        """Messages that their readers did not get."""


class LiveStream:
    """One stream, and at most one who reads it: who comes last."""

    __slots__ = (
        "_delivery",
        "_loop",
        "_reader",
        "_taken_at",
        "_waiter",
        "ended",
        "name",
        "on_end",
        "readers",
        "stream",
    )

    def __init__(
        self,
        name: str,
        max_messages: int,
        max_bytes: int,
        policy: SlowReader = SlowReader.DROP_OLDEST,
        delivery: Delivery | None = None,
    ) -> None:
        self._delivery = delivery or Delivery()
        self.name = name
        self.stream = Stream(max_messages, max_bytes, policy, self._delivery.most_bytes)
        self.ended = False
        """Nothing more will come."""
        self.readers = 0
        """Connections that read it. What is dropped while there is none, nobody has missed."""
        self.on_end: Callable[[], None] | None = None
        """Called when nothing more will come."""
        self._loop = asyncio.get_running_loop()
        self._taken_at = self._loop.time()
        self._waiter: asyncio.Future[None] | None = None
        self._reader = 0

    def __repr__(self) -> str:
        return f"<LiveStream {self.name} {self.stream!r}{' ended' if self.ended else ''}>"

    def put(self, frame: bytes, *, vital: bool = False, final: bool = False) -> None:
        """Add a message; after a final one, or when its reader is too slow for good, nothing follows."""
        stream = self.stream
        if stream.overrun:
            return
        dropped = stream.dropped
        stream.put(frame, vital=vital or final, lags=stream.is_long and self._lags())
        if stream.dropped != dropped and self.readers:
            self._delivery.missed += stream.dropped - dropped
        if 2 * stream.unread_bytes > stream.most_bytes:
            self._delivery.backlog.add(self)
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

    def continue_after(self, number: int) -> None:
        """A reader comes back, or comes for the first time, and has everything up to this number."""
        self._delivery.missed += self.stream.read_again(number)

    @property
    def lags_at(self) -> float:
        """The moment from which on its reader lags, unless it takes something until then."""
        return self._taken_at + LAG

    def _lags(self) -> bool:
        # Who waits for more has everything that came before.
        reads = self._waiter is not None or self._loop.time() <= self.lags_at
        return not (self.readers and reads)

    def poke(self) -> None:
        """Let whoever waits look around: not for a message, but because something else has changed."""
        self._wake()

    async def take(self, number: int, patience: float | None = None) -> Batch:
        """Wait for messages after this number; none come if the stream has ended, or when patience does."""
        self.stream.read(number)
        if self.stream.last <= number and not self.ended:
            await self._wait(patience)
        self._taken_at = self._loop.time()
        if 2 * self.stream.unread_bytes <= self.stream.most_bytes:
            self._delivery.backlog.caught_up(self)
        return self.stream.after(number, BATCH_BYTES)

    async def _wait(self, patience: float | None) -> None:
        # Every call and every open stream waits here; asyncio.timeout would take as long again, and 500 bytes more.
        waiter: asyncio.Future[None] = self._loop.create_future()
        self._waiter = waiter
        timer = None if patience is None else self._loop.call_later(patience, resolve, waiter, None)
        try:
            await waiter
        finally:
            if timer is not None:
                timer.cancel()
            if self._waiter is waiter:
                self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None:
            resolve(self._waiter, None)


def dropped_marker(count: int) -> bytes:
    """The message that tells a reader how many others it has missed."""
    return encode_notification(DROPPED_METHOD, {"count": count})
