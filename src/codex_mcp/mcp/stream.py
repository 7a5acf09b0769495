"""Pure. The messages of one stream, numbered; the newest are kept.

A reader says which number it had last and gets what came after: the one that reads along, and the one that was cut off
and comes back. A reader that is too slow misses the oldest, and is told how many. What is vital (answers, questions) is
not dropped while it is unread.

    put()    beyond the limits, the oldest messages that have been read go first, then the oldest that are not vital
    after()  what is newer, and how many of those are gone
    read()   a reader has everything up to this number
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Numbered:
    """A message and its place in the stream."""

    number: int
    frame: bytes
    vital: bool


@dataclass(frozen=True, slots=True)
class Batch:
    """What a reader gets."""

    messages: Sequence[Numbered]
    dropped: int
    """How many it has missed for good, before, among or after these."""
    last: int
    """The number to go on from: of the newest message, also if that is among the missed."""


class Stream:
    """A ring of messages."""

    __slots__ = ("_bytes", "_kept", "_last", "_read", "max_bytes", "max_messages")

    def __init__(self, max_messages: int, max_bytes: int) -> None:
        self.max_messages = max_messages
        self.max_bytes = max_bytes
        self._kept: deque[Numbered] = deque()
        self._bytes = 0
        self._last = 0
        self._read = 0

    def __repr__(self) -> str:
        return f"<Stream {self._last} messages, {len(self._kept)} kept, {self._last - self._read} unread>"

    @property
    def last(self) -> int:
        """The number of the newest message; 0 before the first."""
        return self._last

    @property
    def last_read(self) -> int:
        """The number of the newest message that somebody has taken."""
        return self._read

    @property
    def unread(self) -> int:
        """How many messages nobody has taken yet."""
        return self._last - self._read

    def put(self, frame: bytes, *, vital: bool = False) -> int:
        """Add a message; return its number."""
        self._last += 1
        self._kept.append(Numbered(self._last, frame, vital))
        self._bytes += len(frame)
        while len(self._kept) > self.max_messages or (self._bytes > self.max_bytes and len(self._kept) > 1):
            if not self._drop_one():
                break
        return self._last

    def after(self, number: int) -> Batch:
        """What came after this number."""
        messages = [message for message in self._kept if message.number > number]
        return Batch(messages, max(0, self._last - number) - len(messages), max(number, self._last))

    def read(self, number: int) -> None:
        """Somebody has everything up to here."""
        self._read = max(self._read, min(number, self._last))

    def _drop_one(self) -> bool:
        for index, message in enumerate(self._kept):
            if message.number <= self._read or not message.vital:
                self._bytes -= len(message.frame)
                del self._kept[index]
                return True
        return False
