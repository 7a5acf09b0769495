"""Pure. Cuts the bytes of a WebSocket client into binary messages; all that is less usual is left to the library.

a frame is                                    what happens
--------------------------------------------  -----------------------------------------------------
a whole binary message within the limit       unmasked: a message
ping, pong, close, a whole text message       passed on as it is, once it is complete
anything else: fragments, errors, too long    passed on as it is, with everything that follows it
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from websockets.frames import apply_mask  # type: ignore[attr-defined]  # the fast one, if it is installed

BINARY: Final = 0x82
PASSED: Final = (0x81, 0x88, 0x89, 0x8A)
"""The first byte of a whole text message, a close, a ping and a pong."""

MASKED: Final = 0x80
LENGTH_16: Final = 126
LENGTH_64: Final = 127
MASK_BYTES: Final = 4


class Message(Struct, frozen=True):
    data: bytes


class Other(Struct, frozen=True):
    """For the library."""

    raw: bytes


class MaskedMessages:
    def __init__(self, max_size: int) -> None:
        self._max_size = max_size
        self._parts: list[bytes] = []
        self._held = 0
        self._needed = 0
        """Bytes of the frame that has begun, as far as that is known."""
        self._is_over = False
        """The library has taken over."""

    def feed(self, data: bytes) -> list[Message | Other]:
        if self._is_over:
            return [Other(data)]
        if self._parts:
            self._parts.append(data)
            self._held += len(data)
            if self._held < self._needed:
                return []
            data, self._parts = b"".join(self._parts), []
        return self._cut(data)

    @property
    def held(self) -> int:
        """Bytes of a frame that has begun."""
        return self._held if self._parts else 0

    def _cut(self, data: bytes) -> list[Message | Other]:
        found: list[Message | Other] = []
        at, end = 0, len(data)
        while at < end:
            first, start, size = self._header(data, at)
            if start + size > end:
                self._parts, self._held, self._needed = [data[at:]], end - at, start + size - at
                break
            if first == BINARY:
                mask = data[start : start + MASK_BYTES]
                found.append(Message(apply_mask(memoryview(data)[start + MASK_BYTES : start + size], mask)))
            elif first in PASSED:
                found.append(Other(data[at : start + size]))
            else:
                self._is_over = True
                found.append(Other(data[at:]))
                break
            at = start + size
        return found

    def _header(self, data: bytes, at: int) -> tuple[int, int, int]:
        """The first byte, where mask and payload start, and their size; 0 as first byte if the library must decide."""
        if len(data) - at < 2:
            return 0, at, 2
        first, length = data[at], data[at + 1] ^ MASKED
        start = at + 2
        if length >= LENGTH_16:
            width = {LENGTH_16: 2, LENGTH_64: 8}.get(length, 0)
            length = int.from_bytes(data[start : start + width], "big") if len(data) - start >= width else 0
            start += width
            if not width or length > self._max_size:
                return 0, at, 2
        if first != BINARY and first not in PASSED:
            return 0, at, 2
        return first, start, length + MASK_BYTES
