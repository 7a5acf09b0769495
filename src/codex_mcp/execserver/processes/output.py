"""Pure. One process's events in one sequence: what it wrote, that it exited, that it closed; and how much is kept.

    event            takes a number   kept
    ---------------  ---------------  ------------------------------------------------------
    output chunk     yes              until newer ones fill the space (bytes and count)
    exited, closed   yes, once each   for ever, as two numbers

What has been handed to a connection is "sent", which does not mean that it arrived. So while nobody is connected
nothing is forgotten, sent or not: the log says when it is full, and whoever fills it must wait for a client.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TypeAlias

from codex_mcp.wire.exec.protocol import Chunk, OutputStream, ProcessRead


@dataclass(frozen=True, slots=True)
class Exited:
    """The process itself ended."""

    seq: int
    exit_code: int
    sandbox_denied: bool


@dataclass(frozen=True, slots=True)
class Closed:
    """No event comes after this one."""

    seq: int


Event: TypeAlias = Chunk | Exited | Closed


class OutputLog:
    """Numbers events, keeps the newest output, answers reads."""

    __slots__ = ("_bytes", "_chunks", "_max_bytes", "_max_chunks", "closed", "exited", "next_seq", "sent")

    def __init__(self, max_bytes: int, max_chunks: int) -> None:
        self._max_bytes = max_bytes
        self._max_chunks = max_chunks
        self._chunks: deque[Chunk] = deque()
        self._bytes = 0
        self.next_seq = 1
        self.sent = 0
        self.exited: Exited | None = None
        self.closed: Closed | None = None

    def __repr__(self) -> str:
        return f"<OutputLog next {self.next_seq}, {len(self._chunks)} chunks, {self._bytes} bytes>"

    @property
    def kept_bytes(self) -> int:
        """Bytes of output that can still be read."""
        return self._bytes

    def has_room(self, size: int) -> bool:
        """Can so much more be kept without forgetting anything?"""
        return self._bytes + size <= self._max_bytes and len(self._chunks) < self._max_chunks

    def append(self, stream: OutputStream, data: bytes) -> Chunk:
        """Number one chunk, keep it, and forget the oldest beyond the limits."""
        chunk = Chunk(self._take_seq(), stream, data)
        self._chunks.append(chunk)
        self._bytes += len(data)
        # The newest stays, however large it is.
        while len(self._chunks) > 1 and (self._bytes > self._max_bytes or len(self._chunks) > self._max_chunks):
            self._bytes -= len(self._chunks.popleft().chunk)
        return chunk

    def exit(self, exit_code: int, *, sandbox_denied: bool) -> Exited:
        """The process ended."""
        assert self.exited is None, "a process exits once"
        self.exited = Exited(self._take_seq(), exit_code, sandbox_denied)
        return self.exited

    def close(self) -> Closed:
        """Nothing will come any more."""
        assert self.exited is not None, "closed() comes after exit()"
        assert self.closed is None, "a process closes once"
        self.closed = Closed(self._take_seq())
        return self.closed

    def mark_sent(self, through: int) -> None:
        """Everything up to this number has been handed to the client."""
        self.sent = max(self.sent, through)

    def unsent(self) -> list[Event]:
        """What is kept and has not been sent, in order."""
        events: list[Event] = [chunk for chunk in self._chunks if chunk.seq > self.sent]
        events += [event for event in (self.exited, self.closed) if event is not None and event.seq > self.sent]
        return sorted(events, key=lambda event: event.seq)

    def has_news(self, after: int) -> bool:
        """Would a read after this number be answered at once?"""
        if self._chunks and self._chunks[-1].seq > after:
            return True
        return self.closed is not None or (self.exited is not None and after < self.next_seq - 1)

    def read(self, after: int, max_bytes: int | None) -> ProcessRead:
        """What is kept after this number, no more than `max_bytes` of it, but one chunk at least."""
        chunks = [chunk for chunk in self._chunks if chunk.seq > after]
        if max_bytes is not None:
            chunks = _within(chunks, max_bytes)
        exited = self.exited
        return ProcessRead(
            chunks=chunks,
            next_seq=self.next_seq if max_bytes is None or not chunks else chunks[-1].seq + 1,
            exited=exited is not None,
            exit_code=exited.exit_code if exited else None,
            closed=self.closed is not None,
            sandbox_denied=exited is not None and exited.sandbox_denied,
        )

    def _take_seq(self) -> int:
        seq = self.next_seq
        self.next_seq = seq + 1
        return seq


def _within(chunks: list[Chunk], max_bytes: int) -> list[Chunk]:
    total = 0
    for count, chunk in enumerate(chunks):
        if count and total + len(chunk.chunk) > max_bytes:
            return chunks[:count]
        total += len(chunk.chunk)
        if total >= max_bytes:
            return chunks[: count + 1]
    return chunks
