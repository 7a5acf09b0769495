"""Pure. The numbered messages of one stream, of which the newest are kept.

A reader names the last number it has and gets what came after, whether it follows the stream or resumes it after a lost
connection. Messages that were read are kept for resuming, within `max_messages` and `max_bytes`. The policy decides
about unread messages beyond the limits. A reader that keeps reading has `most_bytes`, for any number of messages; one
that lags (it has taken nothing for a while) has `max_messages` and `max_bytes`:

    policy        beyond the limits of its reader                          vital messages alone, beyond `most_bytes`
    ------------  -------------------------------------------------------  -----------------------------------------
    drop-oldest   the oldest are dropped, and the reader is told how many  overrun
                  (unread vital messages, answers and questions, stay)
    disconnect    overrun                                                  (not reached)
    wait          overrun; a reader that lags also has `most_bytes`        overrun

Messages that were read are dropped first, whatever the policy. A stream that was overrun takes no more messages: its
reader gets what is kept, and is then disconnected.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from operator import attrgetter
from typing import Final

from msgspec import Struct

from codex_mcp.base.settings.kinds import MIB, SlowReader

MOST_BYTES: Final = 8 * MIB
"""The default, as of the setting `outbox_bytes`."""

MOST_VITAL: Final = 4096
"""Unread vital messages: four for each request that a session may have open."""


class Numbered(Struct, frozen=True, gc=False):
    number: int
    frame: bytes
    vital: bool


class Batch(Struct, frozen=True):
    messages: Sequence[Numbered]
    dropped: int
    """How many messages it has missed, before, among or after these."""
    last: int
    """The number to continue from: that of the newest message delivered or missed."""


_number: Final = attrgetter("number")


class MessageRing:
    __slots__ = (
        "_bytes",
        "_kept",
        "_last",
        "_read",
        "_roomy_bytes",
        "dropped",
        "max_bytes",
        "max_messages",
        "most_bytes",
        "overrun",
        "policy",
        "unread_bytes",
    )

    def __init__(
        self,
        max_messages: int,
        max_bytes: int,
        policy: SlowReader = SlowReader.DROP_OLDEST,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self.max_messages = max_messages
        self.max_bytes = max_bytes
        self.most_bytes = most_bytes
        self.policy = policy
        self.overrun = False
        """Its reader was too slow."""
        self.dropped = 0
        """Messages that were dropped unread."""
        self.unread_bytes = 0
        self._kept: list[Numbered] = []
        self._bytes = 0
        self._roomy_bytes = min(max_bytes, most_bytes)
        self._last = 0
        self._read = 0

    def __repr__(self) -> str:
        return f"<MessageRing {self._last} messages, {len(self._kept)} kept, {self._last - self._read} unread>"

    @property
    def last(self) -> int:
        return self._last

    @property
    def last_read(self) -> int:
        return self._read

    @property
    def unread(self) -> int:
        return self._last - self._read

    @property
    def is_long(self) -> bool:
        """It holds enough messages for it to matter whether the reader lags."""
        return len(self._kept) >= self.max_messages

    def put(self, frame: bytes, *, vital: bool = False, lags: bool = True) -> int:
        """Add a message; return its number, or that of the last one if the stream was overrun."""
        if self.overrun:
            return self._last
        self._last += 1
        self._kept.append(Numbered(self._last, frame, vital))
        self._bytes += len(frame)
        self.unread_bytes += len(frame)
        if self._bytes <= self._roomy_bytes and len(self._kept) <= self.max_messages:
            return self._last  # nearly every message, whatever the policy
        self._forget_read()
        if self.policy is SlowReader.DROP_OLDEST:
            self._drop_oldest(lags=lags)
        self.overrun = self._is_overrun(lags=lags)
        return self._last

    def after(self, number: int, max_bytes: int | None = None) -> Batch:
        """The messages after this number: all, or the first ones up to `max_bytes`, but at least one."""
        messages = self._kept[bisect_right(self._kept, number, key=_number) :]
        last = max(number, self._last)
        if max_bytes is not None and self._bytes > max_bytes and len(messages) > 1:
            whole = len(messages)
            messages = _first(messages, max_bytes)
            last = messages[-1].number if len(messages) < whole else last
        return Batch(messages, last - number - len(messages), last)

    def read(self, number: int) -> None:
        """The reader has everything up to this number."""
        number = min(number, self._last)
        if number <= self._read:
            return
        if number == self._last:
            self.unread_bytes = 0
        else:
            begin, end = (bisect_right(self._kept, each, key=_number) for each in (self._read, number))
            self.unread_bytes -= sum(len(message.frame) for message in self._kept[begin:end])
        self._read = number

    def read_again(self, number: int) -> int:
        """A reader resumes after this number; return how many of the later messages are gone."""
        self._read = min(number, self._read)
        missing = self.after(number)
        self.unread_bytes = sum(len(message.frame) for message in missing.messages)
        return missing.dropped

    def _exceeds(self, count: int, size: int, *, lags: bool) -> bool:
        # The newest message always stays, however long it is.
        if self.policy is SlowReader.WAIT or not lags:
            return size > self.most_bytes and count > 1
        return count > self.max_messages or (size > self.max_bytes and count > 1)

    def _is_overrun(self, *, lags: bool) -> bool:
        count, size = len(self._kept), self._bytes
        if not self._exceeds(count, size, lags=lags):
            return False
        if self.policy is not SlowReader.DROP_OLDEST:
            return True
        # Only vital messages are left.
        return size > max(self.most_bytes, self.max_bytes) or count > max(MOST_VITAL, self.max_messages)

    def _forget_read(self) -> None:
        count, size, index = len(self._kept), self._bytes, 0
        while index < count - 1 and (count - index > self.max_messages or size > self._roomy_bytes):
            if self._kept[index].number > self._read:
                break
            size -= len(self._kept[index].frame)
            index += 1
        del self._kept[:index]
        self._bytes = size

    def _drop_oldest(self, *, lags: bool) -> None:
        """In one pass, because a reader that begins to lag loses thousands at once."""
        count, size, index = len(self._kept), self._bytes, 0
        vital: list[Numbered] = []
        while index < len(self._kept) and self._exceeds(count, size, lags=lags):
            message = self._kept[index]
            index += 1
            if message.vital:
                vital.append(message)
                continue
            count -= 1
            size -= len(message.frame)
        self._kept[:index] = vital
        self.dropped += index - len(vital)
        self.unread_bytes -= self._bytes - size
        self._bytes = size


def _first(messages: list[Numbered], max_bytes: int) -> list[Numbered]:
    size = 0
    for index, message in enumerate(messages):
        size += len(message.frame)
        if size > max_bytes:
            return messages[: max(1, index)]
    return messages
