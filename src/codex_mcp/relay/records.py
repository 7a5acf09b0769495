"""Pure. Messages as encrypted records: lengths and messages are one stream of bytes, cut into records that are sealed.

    message   any JSON text of 1 byte to 64 MiB, after its length in four bytes (big-endian)
    record    up to 61,440 bytes of that stream; sealed, it is the payload of a data frame

A record is sealed for its place in the sequence, so it can only be opened there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from codex_mcp.relay.errors import RelayError
from codex_mcp.relay.symmetric import TAG_BYTES, CipherState

RECORD_BYTES: Final = 61_440
"""Plain bytes of a record, as in Codex. A Noise message has 65,535 bytes at most."""

SEALED_BYTES: Final = RECORD_BYTES + TAG_BYTES

MAX_MESSAGE_BYTES: Final = 64 * 1024 * 1024
LENGTH_BYTES: Final = 4


def records(message: bytes) -> Iterator[bytes]:
    """The plain records of one message. Raises RelayError if it cannot be sent."""
    if not 1 <= len(message) <= MAX_MESSAGE_BYTES:
        raise RelayError(f"cannot send a message of {len(message)} bytes: the limit is {MAX_MESSAGE_BYTES}")
    first = RECORD_BYTES - LENGTH_BYTES
    yield len(message).to_bytes(LENGTH_BYTES, "big") + message[:first]
    for start in range(first, len(message), RECORD_BYTES):
        yield message[start : start + RECORD_BYTES]


class RecordReader:
    """Opens records in order and puts the messages together again. After an error it must not be used again."""

    def __init__(self, cipher: CipherState) -> None:
        self._cipher = cipher
        self._held = bytearray()
        """Not a list of what came: a record may have two bytes, which would take twenty times as much."""
        self._needed = LENGTH_BYTES

    def opened(self, sealed: bytes) -> list[bytes]:
        """The messages that this record completes. Raises RelayError."""
        if len(sealed) > SEALED_BYTES:
            raise RelayError(f"a record has {len(sealed)} bytes; the limit is {SEALED_BYTES}")
        self._held += self._cipher.decrypt(sealed)
        return self._completed() if len(self._held) >= self._needed else []

    def _completed(self) -> list[bytes]:
        held = bytes(self._held)
        messages: list[bytes] = []
        at = 0
        self._needed = LENGTH_BYTES
        while len(held) - at >= LENGTH_BYTES:
            size = int.from_bytes(held[at : at + LENGTH_BYTES], "big")
            if not 1 <= size <= MAX_MESSAGE_BYTES:
                raise RelayError(f"a message has {size} bytes; the limit is {MAX_MESSAGE_BYTES}")
            end = at + LENGTH_BYTES + size
            if end > len(held):
                self._needed = LENGTH_BYTES + size
                break
            messages.append(held[at + LENGTH_BYTES : end])
            at = end
        del self._held[:at]
        return messages
