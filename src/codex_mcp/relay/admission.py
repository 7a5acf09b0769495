"""Pure. Which handshakes an executor takes up.

    stream is   handshake received                    validated    failed             ended
    ----------  ------------------------------------  -----------  -----------------  -------
    unknown     -> pending, or refused at a limit     -            -                  -
    pending     ignored: an echo                      -> open      -> over, counted   -> over
    open        ignored: an echo                      -            -                  -> over
    over        refused: a replay                     -            -                  -

After `MAX_FAILURES` failures on one connection to the relay, handshakes are refused for `PAUSE` seconds; open streams
continue. The limits are those of Codex's own executor.
"""

from __future__ import annotations

from collections import OrderedDict
from enum import StrEnum
from typing import Final

MAX_STREAMS: Final = 128
MAX_PENDING: Final = 32
"""Handshakes whose harness the registry is asked about."""

MAX_FAILURES: Final = 8
PAUSE: Final = 10.0

REMEMBERED: Final = 4096
"""Ids of ended streams. A replay of an older one takes up a stream until it times out, and learns nothing."""


class Verdict(StrEnum):
    ACCEPTED = "accepted"
    ECHO = "echo"
    REPLAY = "replay"
    FULL = "full"
    PAUSED = "paused"


class Admission:
    def __init__(self) -> None:
        self._pending: set[str] = set()
        self._open: set[str] = set()
        self._over: OrderedDict[str, None] = OrderedDict()
        self._failures = 0
        self._paused_until = 0.0

    def __len__(self) -> int:
        return len(self._open) + len(self._pending)

    def connected(self) -> None:
        """Failures are counted for each connection to the relay; a pause goes on."""
        self._failures = 0

    def handshake_received(self, stream_id: str, now: float) -> Verdict:
        if stream_id in self._pending or stream_id in self._open:
            return Verdict.ECHO
        if stream_id in self._over:
            return Verdict.REPLAY
        if now < self._paused_until:
            return Verdict.PAUSED
        if len(self) >= MAX_STREAMS or len(self._pending) >= MAX_PENDING:
            return Verdict.FULL
        self._pending.add(stream_id)
        return Verdict.ACCEPTED

    def validated(self, stream_id: str) -> bool:
        """The registry knows its harness. False: the stream has ended in the meantime."""
        if stream_id not in self._pending:
            return False
        self._pending.discard(stream_id)
        self._open.add(stream_id)
        return True

    def failed(self, stream_id: str, now: float) -> None:
        """The handshake was not authentic, or the registry does not know its harness."""
        if stream_id in self._pending:
            self.ended(stream_id)
            self._failures += 1
            if self._failures >= MAX_FAILURES:
                self._failures, self._paused_until = 0, now + PAUSE

    def ended(self, stream_id: str) -> bool:
        """False: there is no such stream."""
        if stream_id not in self._pending and stream_id not in self._open:
            return False
        self._pending.discard(stream_id)
        self._open.discard(stream_id)
        self._over[stream_id] = None
        if len(self._over) > REMEMBERED:
            self._over.popitem(last=False)
        return True
