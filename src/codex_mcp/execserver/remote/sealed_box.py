"""Pure. Opens a sealed box of NaCl (X25519, XSalsa20, Poly1305), in which OpenAI's service may send a task's id.

A short text once per start: plain Python is fast enough, and `cryptography` has no Salsa20.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from typing import Final

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.poly1305 import Poly1305

KEY_BYTES: Final = 32
TAG_BYTES: Final = 16
BLOCK_BYTES: Final = 64
NONCE_BYTES: Final = 24

SIGMA: Final = struct.unpack("<4I", b"expand 32-byte k")
MASK: Final = 0xFFFFFFFF

Words = tuple[int, ...]

COLUMNS: Final = ((0, 4, 8, 12), (5, 9, 13, 1), (10, 14, 2, 6), (15, 3, 7, 11))
ROWS: Final = ((0, 1, 2, 3), (5, 6, 7, 4), (10, 11, 8, 9), (15, 12, 13, 14))
"""The words that each quarter of a round changes."""


def open_sealed_box(secret: X25519PrivateKey, box: bytes) -> bytes:
    """Raises ValueError if the box was not made for this key, or has been changed."""
    if len(box) < KEY_BYTES + TAG_BYTES:
        raise ValueError("it is too short")
    sender, sealed = box[:KEY_BYTES], box[KEY_BYTES:]
    nonce = hashlib.blake2b(sender + secret.public_key().public_bytes_raw(), digest_size=NONCE_BYTES).digest()
    shared = secret.exchange(X25519PublicKey.from_public_bytes(sender))
    return open_secret_box(_hsalsa20(shared, bytes(16)), nonce, sealed)


def open_secret_box(key: bytes, nonce: bytes, sealed: bytes) -> bytes:
    """Raises ValueError if the key is another one, or the box has been changed."""
    tag, ciphertext = sealed[:TAG_BYTES], sealed[TAG_BYTES:]
    stream = _xsalsa20(key, nonce, KEY_BYTES + len(ciphertext))
    if not hmac.compare_digest(Poly1305.generate_tag(stream[:KEY_BYTES], ciphertext), tag):
        raise ValueError("it was not made for this key")
    return bytes(one ^ other for one, other in zip(ciphertext, stream[KEY_BYTES:], strict=True))


def _xsalsa20(key: bytes, nonce: bytes, size: int) -> bytes:
    subkey = _hsalsa20(key, nonce[:16])
    blocks = []
    for number in range(-(-size // BLOCK_BYTES)):
        before = _state(subkey, nonce[16:] + struct.pack("<Q", number))
        after = [(one + other) & MASK for one, other in zip(before, _rounds(before), strict=True)]
        blocks.append(struct.pack("<16I", *after))
    return b"".join(blocks)[:size]


def _hsalsa20(key: bytes, data: bytes) -> bytes:
    after = _rounds(_state(key, data))
    return struct.pack("<8I", *(after[place] for place in (0, 5, 10, 15, 6, 7, 8, 9)))


def _state(key: bytes, data: bytes) -> Words:
    words, middle = struct.unpack("<8I", key), struct.unpack("<4I", data)
    return (SIGMA[0], *words[:4], SIGMA[1], *middle, SIGMA[2], *words[4:], SIGMA[3])


def _rounds(state: Words) -> Words:
    words = list(state)
    for _ in range(10):
        for quarter in (*COLUMNS, *ROWS):
            a, b, c, d = quarter
            words[b] ^= _rotated(words[a] + words[d], 7)
            words[c] ^= _rotated(words[b] + words[a], 9)
            words[d] ^= _rotated(words[c] + words[b], 13)
            words[a] ^= _rotated(words[d] + words[c], 18)
    return tuple(words)


def _rotated(word: int, by: int) -> int:
    word &= MASK
    return (word << by | word >> 32 - by) & MASK
