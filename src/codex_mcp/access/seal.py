"""Pure. Signed values that a client carries for us and gives back: anyone can read them, only we can make them.

A sealed text is `payload.signature`, both in URL-safe base64; the signature is HMAC-SHA256 over the purpose and the
payload, so that a value sealed for one purpose is invalid for any other.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from typing import Final, TypeVar

import msgspec

Value = TypeVar("Value")

KEY_BYTES: Final = 32
"""As long as the signature: a longer key adds nothing."""

MAX_SEALED_CHARS: Final = 16 * 1024
"""Ours have a few hundred characters. The limit keeps a client from making us hash megabytes."""


def seal(key: bytes, purpose: str, value: object) -> str:
    payload = msgspec.json.encode(value)
    return f"{_text(payload)}.{_text(_signature(key, purpose, payload))}"


def unseal(key: bytes, purpose: str, sealed: str, kind: type[Value]) -> Value | None:
    """The sealed value; None if this server did not seal it for this purpose."""
    if len(sealed) > MAX_SEALED_CHARS:
        return None
    payload_text, _, signature_text = sealed.partition(".")
    try:
        payload = _bytes(payload_text)
        signature = _text(_signature(key, purpose, payload))
        # Base64 has several spellings of one value; only one of them is valid, so that a sealed text is unique.
        if not hmac.compare_digest(signature.encode(), signature_text.encode()) or _text(payload) != payload_text:
            return None
        return msgspec.json.decode(payload, type=kind)
    except (binascii.Error, ValueError, msgspec.MsgspecError):
        return None


def digest(value: object) -> str:
    """A short fingerprint of a value, independent of the order of keys."""
    encoded = msgspec.json.encode(value, order="sorted")
    return hashlib.sha256(encoded).hexdigest()[:32]


def _signature(key: bytes, purpose: str, payload: bytes) -> bytes:
    return hmac.digest(key, purpose.encode() + b"\0" + payload, "sha256")


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _bytes(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
