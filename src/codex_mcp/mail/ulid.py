"""Pure. ULIDs: ids of 26 letters and digits that sort by the millisecond in which they were made."""

from __future__ import annotations

from typing import Final

ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
LENGTH: Final = 26
RANDOM_BYTES: Final = 10


def ulid(seconds: float, randomness: bytes) -> str:
    """The id of a moment (seconds since the epoch) and ten random bytes."""
    number = round(seconds * 1000) << (8 * RANDOM_BYTES) | int.from_bytes(randomness)
    return "".join(ALPHABET[number >> (5 * place) & 31] for place in reversed(range(LENGTH)))
