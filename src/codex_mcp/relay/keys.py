"""Pure. Identity keys of an executor or a harness: an X25519 key and an ML-KEM-768 key, always used together.

Private keys have no readable `repr`, so that they cannot reach a log by accident.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from functools import cached_property
from typing import Final

from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey, MLKEM768PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from msgspec import Struct

from codex_mcp.relay.errors import RelayError

SUITE: Final = "Noise_hybridIK_X25519+MLKEM768_AESGCM_SHA256"
"""How registries name the pair of keys. (The handshake's own name is spelled differently.)"""

X25519_BYTES: Final = 32
MLKEM_PUBLIC_BYTES: Final = 1184
MLKEM_SEED_BYTES: Final = 64
CIPHERTEXT_BYTES: Final = 1088
"""What encapsulation produces for the owner of an ML-KEM-768 key."""

SEED_BYTES: Final = X25519_BYTES + MLKEM_SEED_BYTES


class PublicKeys(Struct, frozen=True):
    x25519: bytes
    mlkem: bytes

    @property
    def fingerprint(self) -> str:
        """A short name of these keys, to be compared by people and programs: `sha256:` and 64 digits."""
        return f"sha256:{hashlib.sha256(self.x25519 + self.mlkem).hexdigest()}"


class PublicKeyObject(Struct, frozen=True, forbid_unknown_fields=True):
    """Public keys as registries spell them in JSON."""

    suite: str
    x25519_public_key: str
    mlkem768_public_key: str


class PrivateKeys:
    def __init__(self, seed: bytes) -> None:
        """`seed` is SEED_BYTES of randomness, or of an identity file."""
        if len(seed) != SEED_BYTES:
            raise ValueError(f"cannot use {len(seed)} bytes as private keys: {SEED_BYTES} are needed")
        self._x25519 = X25519PrivateKey.from_private_bytes(seed[:X25519_BYTES])
        self._mlkem = MLKEM768PrivateKey.from_seed_bytes(seed[X25519_BYTES:])

    @cached_property
    def public(self) -> PublicKeys:
        return PublicKeys(self._x25519.public_key().public_bytes_raw(), self._mlkem.public_key().public_bytes_raw())

    def agree(self, other: bytes) -> bytes:
        """The X25519 secret shared with the owner of `other`. Raises RelayError for a low-order key."""
        try:
            return self._x25519.exchange(X25519PublicKey.from_public_bytes(other))
        except ValueError as exc:
            raise RelayError("the other side sent an X25519 key that is not usable") from exc

    def decapsulate(self, ciphertext: bytes) -> bytes:
        """The secret that the other side encapsulated. A forged ciphertext gives another secret, not an error."""
        try:
            return self._mlkem.decapsulate(ciphertext)
        except ValueError as exc:
            raise RelayError("the other side sent an ML-KEM ciphertext that is not usable") from exc


class Encapsulation(Struct, frozen=True):
    """A fresh secret, and the ciphertext from which the owner of the key recovers it."""

    secret: bytes
    ciphertext: bytes

    def __repr__(self) -> str:
        return "<Encapsulation>"


def encapsulate(mlkem: bytes) -> Encapsulation:
    """Make a secret for the owner of this key; the only function of this package that draws randomness."""
    return Encapsulation(*_mlkem_key(mlkem).encapsulate())


def _mlkem_key(mlkem: bytes) -> MLKEM768PublicKey:
    try:
        return MLKEM768PublicKey.from_public_bytes(mlkem)
    except ValueError as exc:
        raise RelayError("the other side sent an ML-KEM key that is not usable") from exc


def public_key_object(keys: PublicKeys) -> PublicKeyObject:
    return PublicKeyObject(SUITE, base64.b64encode(keys.x25519).decode(), base64.b64encode(keys.mlkem).decode())


def public_keys(spelled: PublicKeyObject) -> PublicKeys:
    """The keys of a registry's JSON. Raises RelayError."""
    if spelled.suite != SUITE:
        raise RelayError(f"the keys are of suite {spelled.suite[:64]!r}, and only {SUITE} is supported")
    keys = PublicKeys(
        _decoded(spelled.x25519_public_key, "x25519_public_key", X25519_BYTES),
        _decoded(spelled.mlkem768_public_key, "mlkem768_public_key", MLKEM_PUBLIC_BYTES),
    )
    _mlkem_key(keys.mlkem)
    return keys


def _decoded(text: str, name: str, size: int) -> bytes:
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        data = b""
    if len(data) != size:
        raise RelayError(f"{name} must be {size} bytes in base64")
    return data
