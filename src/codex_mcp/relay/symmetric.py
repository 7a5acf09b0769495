"""Pure. The symmetric half of the Noise Protocol Framework (revision 34, section 5) with AES-256-GCM and SHA-256."""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from codex_mcp.relay.errors import RelayError

TAG_BYTES: Final = 16

LAST_COUNTER: Final = 2**64 - 1
"""Reserved by Noise. A counter that reaches it would repeat a nonce next."""

NONCE_PREFIX: Final = bytes(4)


class CipherState:
    """One key and its counter: encrypts or decrypts one direction, in order."""

    def __init__(self, key: bytes, counter: int = 0) -> None:
        self._cipher = AESGCM(key)
        self.counter = counter

    def encrypt(self, plain: bytes, bound: bytes | None = None) -> bytes:
        """`bound` is authenticated with it. Raises RelayError once the key is used up."""
        return self._cipher.encrypt(self._nonce(), plain, bound)

    def decrypt(self, sealed: bytes, bound: bytes | None = None) -> bytes:
        """Raises RelayError if a bit differs, or if it was sealed for another place in the sequence."""
        nonce = self._nonce()
        try:
            return self._cipher.decrypt(nonce, sealed, bound)
        except InvalidTag as exc:
            raise RelayError("a message is not authentic") from exc

    def _nonce(self) -> bytes:
        if self.counter >= LAST_COUNTER:
            raise RelayError("the key is used up: its counter would wrap")
        nonce = NONCE_PREFIX + self.counter.to_bytes(8, "big")
        self.counter += 1
        return nonce


class SymmetricState:
    """The transcript of a handshake: a hash of everything sent, and a key made from everything agreed on."""

    def __init__(self, name: bytes) -> None:
        self.hash = name.ljust(32, b"\0") if len(name) <= 32 else hashlib.sha256(name).digest()
        self._chain = self.hash
        self._cipher: CipherState | None = None

    def mix_hash(self, data: bytes) -> None:
        self.hash = hashlib.sha256(self.hash + data).digest()

    def mix_key(self, secret: bytes) -> None:
        self._chain, key = _derived(self._chain, secret, 2)
        self._cipher = CipherState(key)

    def mix_key_and_hash(self, secret: bytes) -> None:
        self._chain, mixed, key = _derived(self._chain, secret, 3)
        self.mix_hash(mixed)
        self._cipher = CipherState(key)

    def encrypt_and_hash(self, plain: bytes) -> bytes:
        sealed = plain if self._cipher is None else self._cipher.encrypt(plain, self.hash)
        self.mix_hash(sealed)
        return sealed

    def decrypt_and_hash(self, sealed: bytes) -> bytes:
        plain = sealed if self._cipher is None else self._cipher.decrypt(sealed, self.hash)
        self.mix_hash(sealed)
        return plain

    def split(self) -> tuple[CipherState, CipherState]:
        """The ciphers of the two directions; the initiator sends with the first."""
        first, second = _derived(self._chain, b"", 2)
        return CipherState(first), CipherState(second)


def _derived(chain: bytes, secret: bytes, count: int) -> list[bytes]:
    """HKDF as Noise defines it: `count` keys of 32 bytes."""
    temporary = hmac.digest(chain, secret, "sha256")
    keys: list[bytes] = []
    last = b""
    for number in range(1, count + 1):
        last = hmac.digest(temporary, last + bytes([number]), "sha256")
        keys.append(last)
    return keys
