"""Pure. When the output of a process is read: its child waits otherwise, as soon as its pipe is full.

    the client                                         output is read while
    -------------------------------------------------  ------------------------------------------
    none, or one that has not read what it missed      the log has room: nothing may be forgotten
    live, and settling: it has just read that          there is credit
    live                                               always

In every row it is not read while the client's socket is full, nor during a rest.
"""

from __future__ import annotations

from typing import Final

SETTLING_BYTES: Final = 256 * 1024
SETTLING_COST: Final = 4 * 1024
"""A client that has just read what it missed may not have processed it yet, and Codex fails a process if more than
1 MiB or 256 events arrive meanwhile. So it is first sent only this much, and a small event counts as SETTLING_COST."""

BUSY_READS: Final = 8
BUSY_PAUSE: Final = 0.001
"""A child that writes in small pieces would wake us for each. After this many short reads in a row, reading pauses for
a millisecond, and the pipe collects what it writes. Answers to what a client writes do not count."""


class Pacing:
    """Of one process."""

    def __init__(self, *, is_live: bool) -> None:
        self.is_live = is_live
        """Every event is sent at once."""
        self.is_settling = False
        self.is_resting = False
        self.is_reading = False
        """As `choose` said last."""
        self._credit = 0
        self._short_reads = 0
        self._last_read = 0.0

    def may_read(self, *, has_room: bool, is_full: bool) -> bool:
        """Whether more may be read, even in a rest. `has_room`: of the log; `is_full`: of the socket."""
        if self.is_live:
            has_room = not self.is_settling or self._credit > 0
        return has_room and not is_full

    def choose(self, *, has_room: bool, is_full: bool) -> bool:
        """Choose `is_reading`. Return whether it has changed."""
        before = self.is_reading
        self.is_reading = not self.is_resting and self.may_read(has_room=has_room, is_full=is_full)
        return self.is_reading != before

    def settle(self) -> None:
        """The client has read what it missed."""
        self.is_settling, self._credit = True, SETTLING_BYTES

    def settled(self) -> None:
        self.is_settling = False

    def go_live(self) -> None:
        self.is_live = True

    def client_left(self) -> None:
        self.is_live = self.is_settling = False

    def was_sent(self, size: int) -> None:
        """An output event of so many bytes."""
        self._credit -= max(size, SETTLING_COST)

    def was_short(self, now: float) -> float:
        """A read found little. Return the seconds of the rest that begins, or 0."""
        self._short_reads = self._short_reads + 1 if now - self._last_read < BUSY_PAUSE else 0
        self._last_read = now
        if self._short_reads < BUSY_READS or self.is_resting:
            return 0.0
        self.is_resting = True
        return BUSY_PAUSE

    def rested(self, now: float) -> None:
        self.is_resting, self._last_read = False, now

    def was_written_to(self) -> None:
        """The process's next output may be an answer that is waited for."""
        self._short_reads = 0
