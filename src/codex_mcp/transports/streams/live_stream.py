"""A stream of messages that one connection at a time reads, waiting for new ones."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from msgspec import Struct, field

from codex_mcp.base.futures import resolve
from codex_mcp.base.settings.kinds import SlowReader
from codex_mcp.rpc.codec import encode_notification
from codex_mcp.transports.streams.backlog import LAG, Backlog
from codex_mcp.transports.streams.message_ring import MOST_BYTES, Batch, MessageRing

STREAM_MESSAGES: Final = 128
"""Messages kept for one reader on `/mcp`: how far it may fall behind, and how much it can resume."""

STREAM_BYTES: Final = 4 * 1024 * 1024
"""Bytes kept for one reader; several long outputs fit."""

DROPPED_METHOD: Final = "codex/dropped"
"""Tells a slow reader how many messages it has missed."""

BATCH_BYTES: Final = 64 * 1024
"""The most that is taken at once. A reader that takes less than this in `LAG` seconds lags."""


class Delivery(Struct, eq=False):
    """Limits and counters that the streams of one session share."""

    most_bytes: int = MOST_BYTES
    """The most that is kept for one reader."""
    backlog: Backlog = field(default_factory=Backlog)
    missed: int = 0


class LiveStream:
    """One stream with at most one reader: the newest one."""

    __slots__ = (
        "_delivery",
        "_loop",
        "_on_end",
        "_reader",
        "_taken_at",
        "_waiter",
        "ended",
        "name",
        "readers",
        "ring",
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
        self.ring = MessageRing(max_messages, max_bytes, policy, self._delivery.most_bytes)
        self.ended = False
        """No more messages will follow."""
        self.readers = 0
        """Connections that read it. Messages dropped while there are none do not count as missed."""
        self._on_end: Callable[[], None] | None = None
        self._loop = asyncio.get_running_loop()
        self._taken_at = self._loop.time()
        self._waiter: asyncio.Future[None] | None = None
        self._reader = 0

    def __repr__(self) -> str:
        return f"<LiveStream {self.name} {self.ring!r}{' ended' if self.ended else ''}>"

    def put(self, frame: bytes, *, vital: bool = False, final: bool = False) -> None:
        """Add a message. The stream ends with a final one, or when its reader is too slow."""
        ring = self.ring
        if ring.overrun:
            return
        dropped = ring.dropped
        ring.put(frame, vital=vital or final, lags=ring.is_long and self._lags())
        if ring.dropped != dropped and self.readers:
            self._delivery.missed += ring.dropped - dropped
        if 2 * ring.unread_bytes > ring.most_bytes:
            self._delivery.backlog.add(self)
        if final or ring.overrun:
            self.end()
        else:
            self.wake()

    @property
    def overrun(self) -> bool:
        return self.ring.overrun

    def end(self) -> None:
        self.ended = True
        self.wake()
        if self._on_end is not None:
            self._on_end()

    def when_ended(self, call: Callable[[], None]) -> None:
        self._on_end = call

    def add_reader(self) -> None:
        self.readers += 1

    def remove_reader(self) -> None:
        self.readers -= 1

    def take_over(self) -> Callable[[], bool]:
        """Start reading, in place of an earlier reader. The result tells whether this reader was replaced in turn."""
        self._reader += 1
        self.wake()
        reader = self._reader
        return lambda: self._reader != reader

    def continue_after(self, number: int) -> None:
        """A reader starts or resumes, and has everything up to this number."""
        self._delivery.missed += self.ring.read_again(number)

    @property
    def lags_at(self) -> float:
        return self._taken_at + LAG

    def _lags(self) -> bool:
        # A waiting reader has everything so far.
        reads = self._waiter is not None or self._loop.time() <= self.lags_at
        return not (self.readers and reads)

    def wake(self) -> None:
        """Let the waiting reader check again: for a message, or because something else has changed."""
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    async def take(self, number: int, patience: float | None = None) -> Batch:
        """Wait for messages after this number; there are none if the stream has ended, or after `patience` seconds."""
        self.ring.read(number)
        if self.ring.last <= number and not self.ended:
            await self._wait(patience)
        self._taken_at = self._loop.time()
        if 2 * self.ring.unread_bytes <= self.ring.most_bytes:
            self._delivery.backlog.caught_up(self)
        return self.ring.after(number, BATCH_BYTES)

    async def _wait(self, patience: float | None) -> None:
        # Every call and open stream waits here; asyncio.timeout would double the time and take 500 bytes more.
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


def dropped_marker(count: int) -> bytes:
    return encode_notification(DROPPED_METHOD, {"count": count})
