"""Pure. The handshake of profile `noise_hybrid_ik_v1`: the harness begins, the executor answers.

    <- s                              the harness knows the executor's keys from the registry
    -> skem, e, es, s, ss             3568 bytes and the harness's authorization
    <- ekem, skem, e, ee, se          3424 bytes

`e` and `s` are an X25519 key followed by an ML-KEM-768 key. `skem` and `ekem` are ciphertexts for the other side's
static and ephemeral ML-KEM keys. An attacker has to break both kinds of key. Randomness is an argument (`Fresh`), so
that every byte can be tested.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from codex_mcp.relay.errors import RelayError
from codex_mcp.relay.keys import (
    CIPHERTEXT_BYTES,
    MLKEM_PUBLIC_BYTES,
    X25519_BYTES,
    Encapsulation,
    PrivateKeys,
    PublicKeys,
)
from codex_mcp.relay.symmetric import TAG_BYTES, CipherState, SymmetricState

PROFILE: Final = "noise_hybrid_ik_v1"

NAME: Final = b"Noise_hybridIK_25519+MLKEM768_AESGCM_SHA256"

DOMAIN: Final = "codex-exec-server-relay-noise/v1"
"""The first part of the prologue: keys agreed on here fit no other protocol."""

KEYS_BYTES: Final = X25519_BYTES + MLKEM_PUBLIC_BYTES
SEALED_KEYS_BYTES: Final = KEYS_BYTES + 2 * TAG_BYTES
FIRST_BYTES: Final = CIPHERTEXT_BYTES + KEYS_BYTES + SEALED_KEYS_BYTES + TAG_BYTES
SECOND_BYTES: Final = CIPHERTEXT_BYTES + (CIPHERTEXT_BYTES + TAG_BYTES) + KEYS_BYTES + TAG_BYTES

MAX_AUTHORIZATION: Final = 4096
"""Bytes of the harness's authorization, as in Codex's own executor."""


class Place(Struct, frozen=True):
    """Which stream a handshake is for. Both sides hash it, so a handshake is worth nothing in another place."""

    environment_id: str
    registration_id: str
    stream_id: str


def prologue(place: Place) -> bytes:
    parts = (DOMAIN, place.environment_id, place.registration_id, place.stream_id)
    return b"".join(len(part.encode()).to_bytes(8, "big") + part.encode() for part in parts)


class Ciphers(Struct, frozen=True):
    """What a completed handshake leaves: one cipher per direction."""

    sending: CipherState
    receiving: CipherState


class Initiator:
    """The harness's side: `first`, then `finish` with the executor's answer."""

    def __init__(self, own: PrivateKeys, executor: PublicKeys, place: Place) -> None:
        self._own = own
        self._executor = executor
        self._state = _begin(executor, place)
        self._ephemeral: PrivateKeys | None = None

    def first(self, authorization: str, ephemeral: PrivateKeys, encapsulated: Encapsulation) -> bytes:
        """The first message. `ephemeral` and `encapsulated` (for the executor) must be fresh."""
        payload = authorization.encode()
        if len(payload) > MAX_AUTHORIZATION:
            raise RelayError(f"the authorization has {len(payload)} bytes; the limit is {MAX_AUTHORIZATION}")
        state, own = self._state, self._own.public
        self._ephemeral = ephemeral
        parts = [state.encrypt_and_hash(encapsulated.ciphertext)]  # skem
        state.mix_key_and_hash(encapsulated.secret)
        parts += _hashed_keys(state, ephemeral.public)  # e
        state.mix_key(ephemeral.agree(self._executor.x25519))  # es
        parts += [state.encrypt_and_hash(own.x25519), state.encrypt_and_hash(own.mlkem)]  # s
        state.mix_key(self._own.agree(self._executor.x25519))  # ss
        parts.append(state.encrypt_and_hash(payload))
        return b"".join(parts)

    def finish(self, second: bytes) -> Ciphers:
        """Read the executor's answer. Raises RelayError; the handshake cannot be continued then."""
        if self._ephemeral is None or len(second) != SECOND_BYTES:
            raise RelayError(f"the executor's handshake has {len(second)} bytes instead of {SECOND_BYTES}")
        state, ephemeral, message = self._state, self._ephemeral, _Reader(second)
        self._ephemeral = None
        ciphertext = message.take(CIPHERTEXT_BYTES)  # ekem
        state.mix_hash(ciphertext)
        state.mix_key(ephemeral.decapsulate(ciphertext))
        ciphertext = state.decrypt_and_hash(message.take(CIPHERTEXT_BYTES + TAG_BYTES))  # skem
        state.mix_key_and_hash(self._own.decapsulate(ciphertext))
        theirs = message.take(X25519_BYTES)  # e
        state.mix_hash(theirs)
        state.mix_hash(message.take(MLKEM_PUBLIC_BYTES))
        state.mix_key(ephemeral.agree(theirs))  # ee
        state.mix_key(self._own.agree(theirs))  # se
        state.decrypt_and_hash(message.rest())
        sending, receiving = state.split()
        return Ciphers(sending, receiving)


class Introduction(Struct, frozen=True):
    """What the first message says about its sender."""

    harness: PublicKeys
    authorization: str


class Fresh(Struct, frozen=True):
    """The executor's randomness for one handshake."""

    ephemeral: PrivateKeys
    for_ephemeral: Encapsulation
    for_static: Encapsulation


class Responder:
    """The executor's side: `read` the first message, check who sent it, then `answer`."""

    def __init__(self, own: PrivateKeys, place: Place) -> None:
        self._own = own
        self._state = _begin(own.public, place)
        self._theirs: PublicKeys | None = None
        self._harness: PublicKeys | None = None

    @property
    def ephemeral(self) -> PublicKeys:
        """The harness's ephemeral keys, after `read`."""
        assert self._theirs is not None, "read() comes first"
        return self._theirs

    def read(self, first: bytes) -> Introduction:
        """Raises RelayError for anything but a first message that was made for us and this place."""
        if not FIRST_BYTES <= len(first) <= FIRST_BYTES + MAX_AUTHORIZATION:
            raise RelayError(f"a handshake has {len(first)} bytes; the least is {FIRST_BYTES}")
        state, message = self._state, _Reader(first)
        state.mix_key_and_hash(self._own.decapsulate(state.decrypt_and_hash(message.take(CIPHERTEXT_BYTES))))  # skem
        theirs = PublicKeys(message.take(X25519_BYTES), message.take(MLKEM_PUBLIC_BYTES))  # e
        _hashed_keys(state, theirs)
        state.mix_key(self._own.agree(theirs.x25519))  # es
        x25519 = state.decrypt_and_hash(message.take(X25519_BYTES + TAG_BYTES))  # s
        mlkem = state.decrypt_and_hash(message.take(MLKEM_PUBLIC_BYTES + TAG_BYTES))
        state.mix_key(self._own.agree(x25519))  # ss
        payload = state.decrypt_and_hash(message.rest())
        self._theirs, self._harness = theirs, PublicKeys(x25519, mlkem)
        try:
            return Introduction(self._harness, payload.decode())
        except UnicodeDecodeError as exc:
            raise RelayError("the harness's authorization is not text") from exc

    def answer(self, fresh: Fresh) -> tuple[bytes, Ciphers]:
        """The second message, and the ciphers of the stream."""
        if self._theirs is None or self._harness is None:
            raise RelayError("a handshake cannot be answered before it was read, or twice")
        theirs, harness, state = self._theirs, self._harness, self._state
        self._theirs = None
        state.mix_hash(fresh.for_ephemeral.ciphertext)  # ekem
        state.mix_key(fresh.for_ephemeral.secret)
        parts = [fresh.for_ephemeral.ciphertext, state.encrypt_and_hash(fresh.for_static.ciphertext)]  # skem
        state.mix_key_and_hash(fresh.for_static.secret)
        parts += _hashed_keys(state, fresh.ephemeral.public)  # e
        state.mix_key(fresh.ephemeral.agree(theirs.x25519))  # ee
        state.mix_key(fresh.ephemeral.agree(harness.x25519))  # se
        parts.append(state.encrypt_and_hash(b""))
        receiving, sending = state.split()
        return b"".join(parts), Ciphers(sending, receiving)


def _begin(executor: PublicKeys, place: Place) -> SymmetricState:
    state = SymmetricState(NAME)
    state.mix_hash(prologue(place))
    _hashed_keys(state, executor)
    return state


def _hashed_keys(state: SymmetricState, keys: PublicKeys) -> Sequence[bytes]:
    state.mix_hash(keys.x25519)
    state.mix_hash(keys.mlkem)
    return keys.x25519, keys.mlkem


class _Reader:
    def __init__(self, message: bytes) -> None:
        self._message = message
        self._at = 0

    def take(self, size: int) -> bytes:
        start, self._at = self._at, self._at + size
        return self._message[start : self._at]

    def rest(self) -> bytes:
        return self._message[self._at :]
