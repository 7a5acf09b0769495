"""Pure. Strict base64: standard alphabet, padded, no whitespace, no stray bits at the end.

All output and all files pass through here. The standard library would take half of the server's time; pybase64 takes a
twentieth of that, but does not check for stray bits in the last character.
"""

from __future__ import annotations

from pybase64 import b64decode, b64encode, b64encode_as_string

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

CANONICAL_LAST = {1: frozenset(ALPHABET[::4]), 2: frozenset(ALPHABET[::16])}
"""The characters allowed before the padding, by its length: those without stray bits."""


class BadBase64(ValueError):
    """The text is not base64; the message names the first error as the real server does."""


def encode_base64(data: bytes) -> str:
    return b64encode_as_string(data)


def encode_base64_bytes(data: bytes) -> bytes:
    return b64encode(data)


def decode_base64(text: str) -> bytes:
    """Raises BadBase64."""
    padding = 2 if text.endswith("==") else 1 if text.endswith("=") else 0
    if padding and len(text) > padding and text[-padding - 1] not in CANONICAL_LAST[padding]:
        raise BadBase64(_why_not(text))
    try:
        return b64decode(text, validate=True)
    except ValueError:
        raise BadBase64(_why_not(text)) from None


def _why_not(text: str) -> str:
    body = text.rstrip("=") if len(text) - len(text.rstrip("=")) <= 2 else text
    for offset, character in enumerate(body):
        if character not in ALPHABET:
            # Counted in bytes, not characters: the real server sees UTF-8.
            before = len(body[:offset].encode("utf-8", "surrogatepass"))
            first = character.encode("utf-8", "surrogatepass")[0]
            return f"Invalid symbol {first}, offset {before}."
    if len(text) % 4 == 0 and len(body) != len(text):
        return f"Invalid last symbol {ord(body[-1])}, offset {len(body) - 1}."
    return "Invalid padding"
