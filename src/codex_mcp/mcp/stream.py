"""Pure. The messages of one stream, numbered; the newest are kept.

A reader says which number it had last and gets what came after: the one that reads along, and the one that was cut off
and comes back. What happens to one that is too slow is the stream's policy:

    policy        beyond the limits                                        beyond `most_bytes`
    ------------  -------------------------------------------------------  -------------------
    drop-oldest   the oldest go, and the reader is told how many; what is  overrun
                  vital (answers, questions) stays while it is unread
    disconnect    overrun                                                  (is further away)
    wait          everything stays                                         overrun

What has been read goes first, whatever the policy. A stream that was overrun takes nothing more: what it has is to be
read, and then its reader has to go.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from operator import attrgetter
from typing import Final

from msgspec import Struct

from codex_mcp.base.settings import MIB, SlowReader

MOST_BYTES: Final = 8 * MIB
"""Where nothing else is said; `outbox_bytes` has the same default."""

MOST_VITAL: Final = 4096
"""Unread messages that may not be dropped: four for each request that a session may have open."""


class Numbered(Struct, frozen=True, gc=False):
    """A message and its place in the stream."""

    number: int
    frame: bytes
    vital: bool


class Batch(Struct, frozen=True):
    """What a reader gets."""

    messages: Sequence[Numbered]
    dropped: int
    """How many it has missed for good, before, among or after these."""
    last: int
    """The number to go on from: of the newest message, also if that is among the missed."""


_number: Final = attrgetter("number")


class Stream:
    """A ring of messages."""

    __slots__ = (
        "_bytes",
        "_kept",
        "_last",
        "_read",
        "_roomy_bytes",
        "max_bytes",
        "max_messages",
        "most_bytes",
        "overrun",
        "policy",
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
        """Its reader was too slow for good."""
        self._kept: list[Numbered] = []
        self._bytes = 0
        self._roomy_bytes = min(max_bytes, most_bytes)
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
        """Add a message; return its number, or that of the last one if it was overrun."""
        if self.overrun:
            return self._last
        self._last += 1
        self._kept.append(Numbered(self._last, frame, vital))
        self._bytes += len(frame)
        if self._bytes <= self._roomy_bytes and len(self._kept) <= self.max_messages:
            return self._last  # whatever the policy: nearly every message ends here
        while self._is_full() and self._drop_one():
            pass
        self.overrun = self._is_overrun()
        return self._last

    def after(self, number: int) -> Batch:
        """What came after this number."""
        messages = self._kept[bisect_right(self._kept, number, key=_number) :]
        return Batch(messages, max(0, self._last - number) - len(messages), max(number, self._last))

    def read(self, number: int) -> None:
        """Somebody has everything up to here."""
        self._read = max(self._read, min(number, self._last))

    def _is_full(self) -> bool:
        # The newest message stays, however long it is.
        if self.policy is SlowReader.WAIT:
            return self._bytes > self.most_bytes and len(self._kept) > 1
        return len(self._kept) > self.max_messages or (self._bytes > self.max_bytes and len(self._kept) > 1)

    def _is_overrun(self) -> bool:
        if self.policy is not SlowReader.DROP_OLDEST:
            return self._is_full()
        too_long = self._bytes > max(self.most_bytes, self.max_bytes) and len(self._kept) > 1
        return too_long or len(self._kept) > max(MOST_VITAL, self.max_messages)

    def _drop_one(self) -> bool:
        drops_unread = self.policy is SlowReader.DROP_OLDEST
        for index, message in enumerate(self._kept):
            if message.number > self._read and not drops_unread:
                return False
            if message.number <= self._read or not message.vital:
                self._bytes -= len(message.frame)
                del self._kept[index]
                return True
        return False
