"""Pure. Which handshakes an executor takes up.

    stream is   handshake received                    validated    ended, or failed
    ----------  ------------------------------------  -----------  ----------------
    unknown     -> pending, or refused at a limit     -            -
    pending     ignored: an echo                      -> open      -> over
    open        ignored: an echo                      -            -> over
    over        refused: a replay                     -            -

The limits are those of Codex's own executor. It also refuses all handshakes for a while after some have failed. We do
not: it cannot know whose they were, so one harness could shut out the others. The rendezvous knows, and closes the
connection of a harness whose handshakes fail.
"""

from __future__ import annotations

from collections import OrderedDict
from enum import StrEnum
from typing import Final

MAX_STREAMS: Final = 128
MAX_PENDING: Final = 32
"""Handshakes whose harness the registry is asked about."""

REMEMBERED: Final = 4096
"""Ids of ended streams. A replay of an older one takes up a stream until it times out, and learns nothing."""


class StreamVerdict(StrEnum):
    ACCEPTED = "accepted"
    ECHO = "echo"
    REPLAY = "replay"
    FULL = "full"


class StreamAdmission:
    def __init__(self) -> None:
        self._pending: set[str] = set()
        self._open: set[str] = set()
        self._over: OrderedDict[str, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._open) + len(self._pending)

    def handshake_received(self, stream_id: str) -> StreamVerdict:
        if stream_id in self._pending or stream_id in self._open:
            return StreamVerdict.ECHO
        if stream_id in self._over:
            return StreamVerdict.REPLAY
        if len(self) >= MAX_STREAMS or len(self._pending) >= MAX_PENDING:
            return StreamVerdict.FULL
        self._pending.add(stream_id)
        return StreamVerdict.ACCEPTED

    def validated(self, stream_id: str) -> bool:
        """The registry knows its harness. False: the stream has ended in the meantime."""
        if stream_id not in self._pending:
            return False
        self._pending.discard(stream_id)
        self._open.add(stream_id)
        return True

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
