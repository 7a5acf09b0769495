"""Pure. WebSocket frames of a client that wants to cost nothing, and what it looks at in an exec-server's messages."""

from __future__ import annotations

from collections.abc import Iterator

TEXT = 0x81
BINARY = 0x82
"""A whole message in one frame."""

MASKED = 0x80
NO_MASK = bytes(4)
"""A client has to mask what it sends; with these four bytes the message stays as it is."""

SHORT = 126
LONG = 1 << 16

FIN = 0x80
IS_CONTROL = 0x08

HEAD = 400
"""Bytes in which the beginning of any message fits, up to its long part."""

CHUNK = b'"chunk":"'


def framed(message: bytes, kind: int = TEXT) -> bytes:
    """One message, as a client sends it."""
    size = len(message)
    if size < SHORT:
        head = bytes((kind, MASKED | size))
    elif size < LONG:
        head = bytes((kind, MASKED | SHORT)) + size.to_bytes(2, "big")
    else:
        head = bytes((kind, MASKED | (SHORT + 1))) + size.to_bytes(8, "big")
    return head + NO_MASK + message


class Frames:
    """Cuts what a server sends into messages."""

    def __init__(self) -> None:
        self._left = b""
        self._parts: list[bytes] = []

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Every message that is whole by now."""
        data = self._left + data if self._left else data
        at, size = 0, len(data)
        while size - at >= 2:
            start, length = _payload(data, at)
            if size < start + length:
                break
            first, at = data[at], start + length
            if first & IS_CONTROL:
                continue
            self._parts.append(data[start:at])
            if first & FIN:
                yield self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
                self._parts = []
        self._left = data[at:]


def _payload(data: bytes, at: int) -> tuple[int, int]:
    """Where the payload of a frame starts, and how long it is; a head that is not all there looks endless."""
    length = data[at + 1]
    width = {SHORT: 2, SHORT + 1: 8}.get(length, 0)
    start = at + 2 + width
    if len(data) < start:
        return start, 1
    return start, int.from_bytes(data[at + 2 : start], "big") if width else length


def is_news(message: bytes, method: bytes) -> bool:
    """Is it a notification of this method?"""
    return b'"' + method + b'"' in message[:HEAD]


def output_size(message: bytes) -> int:
    """How many bytes of a process's output a message brings."""
    if not is_news(message, b"process/output"):
        return 0
    start = message.index(CHUNK) + len(CHUNK)
    end = message.index(b'"', start)
    return (end - start) * 3 // 4 - message.count(b"=", max(start, end - 2), end)
