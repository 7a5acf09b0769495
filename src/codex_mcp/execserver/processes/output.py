"""Pure. The numbered events of one process: output, exit and close; and how much output is kept.

    event            takes a number   kept
    ---------------  ---------------  ------------------------------------------------------
    output chunk     yes              until newer ones fill the space (bytes and count)
    exited, closed   yes, once each   always

"Sent" means handed to a connection, not received by the client. So while no client is connected nothing is forgotten,
sent or not: the log says when it is full, and its writer must wait for a client.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final, TypeAlias

from codex_mcp.wire.exec.protocol import Chunk, OutputStream, ProcessClosed, ProcessExited, ProcessRead

Event: TypeAlias = Chunk | ProcessExited | ProcessClosed

KILLED_BY_FILTER: Final = 128 + 31
"""A shell's exit code for SIGSYS: the system call filter ended a process."""

DENIAL_WORDS: Final = (
    b"operation not permitted",
    b"permission denied",
    b"read-only file system",
    b"seccomp",
    b"sandbox",
    b"landlock",
    b"failed to write file",
)


class OutputLog:
    def __init__(self, process_id: str, max_bytes: int, max_chunks: int) -> None:
        self._process_id = process_id
        self._max_bytes = max_bytes
        self._max_chunks = max_chunks
        self._chunks: deque[Chunk] = deque()
        self._bytes = 0
        self.next_seq = 1
        self.sent = 0
        self.exited: ProcessExited | None = None
        self.closed: ProcessClosed | None = None

    @property
    def kept_bytes(self) -> int:
        return self._bytes

    def has_room(self, size: int) -> bool:
        return self._bytes + size <= self._max_bytes and len(self._chunks) < self._max_chunks

    def append(self, stream: OutputStream, data: bytes) -> Chunk:
        """Add one chunk, and forget the oldest beyond the limits."""
        chunk = Chunk(self._take_seq(), stream, data)
        self._chunks.append(chunk)
        self._bytes += len(data)
        # The newest is kept, however large it is.
        while len(self._chunks) > 1 and (self._bytes > self._max_bytes or len(self._chunks) > self._max_chunks):
            self._bytes -= len(self._chunks.popleft().chunk)
        return chunk

    def exit(self, exit_code: int, *, sandbox_denied: bool) -> ProcessExited:
        assert self.exited is None, "a process exits once"
        self.exited = ProcessExited(self._process_id, self._take_seq(), exit_code, sandbox_denied)
        return self.exited

    def close(self) -> ProcessClosed:
        assert self.exited is not None, "close() comes after exit()"
        assert self.closed is None, "a process closes once"
        self.closed = ProcessClosed(self._process_id, self._take_seq())
        return self.closed

    def mark_sent(self, through: int) -> None:
        self.sent = max(self.sent, through)

    def unsent(self) -> list[Event]:
        """What is kept and has not been sent, in order."""
        events: list[Event] = [chunk for chunk in self._chunks if chunk.seq > self.sent]
        events += [event for event in (self.exited, self.closed) if event is not None and event.seq > self.sent]
        return sorted(events, key=lambda event: event.seq)

    def has_news(self, after: int) -> bool:
        """Whether a read after this number would be answered at once."""
        if self._chunks and self._chunks[-1].seq > after:
            return True
        return self.closed is not None or (self.exited is not None and after < self.next_seq - 1)

    def read(self, after: int, max_bytes: int | None) -> ProcessRead:
        """The chunks kept after this number: at most `max_bytes`, but at least one chunk."""
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


def looks_denied(exit_code: int, output: Iterable[Chunk]) -> bool:
    """Whether the sandbox probably stopped a process: a guess from its exit code and output, as in the real server."""
    if exit_code in (0, KILLED_BY_FILTER):
        return exit_code == KILLED_BY_FILTER
    text = b"".join(chunk.chunk for chunk in output).lower()
    return any(word in text for word in DENIAL_WORDS)
