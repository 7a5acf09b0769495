"""Pure. Keeps sent frames until they are acknowledged, and says which to send again.

    the other side       kept                                  sent again
    -------------------  ------------------------------------  --------------------------------------------------
    never acknowledged   the last ones that fit the window     never
    acknowledges         all; the sender waits for the window  after a timeout, a gap that it reports, a reconnect

Codex 0.166.0 never acknowledges: it only notices that nothing changes. Acknowledgements are not authenticated. A relay
that forges them can stop a stream, as it can anyway, but it cannot change a byte.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from codex_mcp.relay.errors import RelayError
from codex_mcp.relay.frames import Data
from codex_mcp.relay.reordering import WINDOW, WINDOW_BYTES

FIRST_RETRY: Final = 1.0
"""Seconds until a frame is sent again; each further time takes twice as long. Relays are connected by TCP, which loses
nothing itself: a frame is lost when a connection breaks, or when a relay drops it."""

LONGEST_RETRY: Final = 8.0

GAP_RETRY: Final = 0.1
"""Seconds until a frame that the other side reports as missing is sent again: it may just be late."""

GIVE_UP: Final = 30.0
"""Seconds without any progress. An executor keeps a session that long for a client that connects anew."""


class _Kept(Struct):
    data: Data
    sent_at: float


class Retention:
    def __init__(self) -> None:
        self.is_acknowledged = False
        """The other side has shown that it acknowledges."""
        self._kept: dict[int, _Kept] = {}
        self._bytes = 0
        self._end = 0
        self._retry = FIRST_RETRY
        self._retry_at = 0.0
        self._progress_at = 0.0

    def __len__(self) -> int:
        return len(self._kept)

    def peer_acknowledges(self) -> None:
        """The other side says that it does, before it had anything to acknowledge."""
        self.is_acknowledged = True

    def has_room(self, size: int) -> bool:
        """Whether the other side could keep another frame if the first of those on the way were lost."""
        if not self.is_acknowledged or not self._kept:
            return True
        return self._end - next(iter(self._kept)) < WINDOW and self._bytes + size <= WINDOW_BYTES

    def sent(self, data: Data, now: float) -> None:
        if not self._kept:
            self._progress(now)
        self._kept[data.seq] = _Kept(data, now)
        self._bytes += len(data.payload)
        self._end = data.seq + 1
        while not self.is_acknowledged and (len(self._kept) > WINDOW or self._bytes > WINDOW_BYTES):
            self._drop(next(iter(self._kept)))

    def acknowledged(self, ack: int, bits: int, now: float, *, first_too: bool) -> None:
        """Forget what has arrived. `first_too`: `ack` 0 means frame 0, not nothing. Raises RelayError."""
        if not (ack or bits or first_too):
            return
        self.is_acknowledged = True
        if ack + bits.bit_length() >= max(self._end, 1):
            raise RelayError(f"the other side acknowledged a frame beyond the {self._end} that were sent")
        arrived = [seq for seq in self._kept if seq <= ack or bits >> (seq - ack - 1) & 1]
        for seq in arrived:
            self._drop(seq)
        if arrived:
            self._progress(now)

    def missing(self, ack: int, bits: int, now: float) -> list[Data]:
        """What the other side reports as missing, if it was not sent just now."""
        if not bits:
            return []
        last = ack + bits.bit_length()
        return self._again([seq for seq in self._kept if seq < last], now, GAP_RETRY)

    def everything(self, now: float, least_age: float) -> list[Data]:
        """What to send after a connection broke, ours or theirs, if it is older than `least_age` seconds."""
        self._progress(now)
        return self._again(list(self._kept), now, least_age) if self.is_acknowledged else []

    @property
    def next_due(self) -> float | None:
        return min(self._retry_at, self._progress_at + GIVE_UP) if self._kept and self.is_acknowledged else None

    def due(self, now: float) -> list[Data]:
        """What to send again because nothing was heard of it. Raises RelayError when it is time to give up."""
        if self.next_due is None:
            return []
        if now >= self._progress_at + GIVE_UP:
            raise RelayError(f"the other side has acknowledged nothing for {GIVE_UP:.0f} seconds")
        if now < self._retry_at:
            return []
        self._retry = min(2 * self._retry, LONGEST_RETRY)
        self._retry_at = now + self._retry
        return self._again(list(self._kept), now, GAP_RETRY)

    def _again(self, wanted: list[int], now: float, least_age: float) -> list[Data]:
        kept = [self._kept[seq] for seq in wanted if self._kept[seq].sent_at + least_age <= now]
        for each in kept:
            each.sent_at = now
        return [each.data for each in kept]

    def _drop(self, seq: int) -> None:
        self._bytes -= len(self._kept.pop(seq).data.payload)

    def _progress(self, now: float) -> None:
        self._retry = FIRST_RETRY
        self._retry_at = now + self._retry
        self._progress_at = now
