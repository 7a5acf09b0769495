"""The symmetric half of Noise: fixed vectors of each operation, and what is not authentic."""

import hashlib
import hmac

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from codex_mcp.relay.errors import RelayError
from codex_mcp.relay.symmetric import LAST_COUNTER, CipherState, SymmetricState

NAME = b"Noise_hybridIK_25519+MLKEM768_AESGCM_SHA256"
KEY = bytes(range(32))


def hkdf(chain: bytes, secret: bytes) -> tuple[bytes, bytes, bytes]:
    """HKDF of the Noise specification, written out."""
    temporary = hmac.new(chain, secret, hashlib.sha256).digest()
    one = hmac.new(temporary, b"\x01", hashlib.sha256).digest()
    two = hmac.new(temporary, one + b"\x02", hashlib.sha256).digest()
    return one, two, hmac.new(temporary, two + b"\x03", hashlib.sha256).digest()


def test_a_nonce_is_four_zero_bytes_and_a_big_endian_counter() -> None:
    sealed = CipherState(KEY, counter=258).encrypt(b"text", b"bound")
    assert AESGCM(KEY).decrypt(bytes(4) + bytes([0, 0, 0, 0, 0, 0, 1, 2]), sealed, b"bound") == b"text"


def test_a_long_name_is_hashed_and_a_short_one_padded() -> None:
    assert SymmetricState(NAME).hash == hashlib.sha256(NAME).digest()
    assert SymmetricState(b"short").hash == b"short" + bytes(27)


def test_each_operation_follows_the_specification() -> None:
    state, chain = SymmetricState(NAME), hashlib.sha256(NAME).digest()
    assert state.encrypt_and_hash(b"plain") == b"plain"
    expected = hashlib.sha256(chain + b"plain").digest()
    assert state.hash == expected
    state.mix_key(b"secret")
    chain, key, _ = hkdf(chain, b"secret")
    sealed = state.encrypt_and_hash(b"text")
    assert sealed == AESGCM(key).encrypt(bytes(12), b"text", expected)
    expected = hashlib.sha256(expected + sealed).digest()
    state.mix_key_and_hash(b"other")
    chain, mixed, key = hkdf(chain, b"other")
    expected = hashlib.sha256(expected + mixed).digest()
    assert state.hash == expected
    assert state.decrypt_and_hash(AESGCM(key).encrypt(bytes(12), b"back", expected)) == b"back"
    sending, receiving = state.split()
    first, second, _ = hkdf(chain, b"")
    assert sending.encrypt(b"x") == AESGCM(first).encrypt(bytes(12), b"x", None)
    assert receiving.encrypt(b"x") == AESGCM(second).encrypt(bytes(12), b"x", None)


def test_any_flipped_bit_is_noticed() -> None:
    sealed = CipherState(KEY).encrypt(b"a record")
    for bit in range(8 * len(sealed)):
        flipped = bytearray(sealed)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(RelayError, match="authentic"):
            CipherState(KEY).decrypt(bytes(flipped))


def test_a_record_opens_only_at_its_place() -> None:
    sealing, opening = CipherState(KEY), CipherState(KEY)
    first, second = sealing.encrypt(b"first"), sealing.encrypt(b"second")
    assert opening.decrypt(first) == b"first"
    with pytest.raises(RelayError):
        opening.decrypt(first)
    with pytest.raises(RelayError):
        CipherState(KEY).decrypt(second)
    for size in range(16):
        with pytest.raises(RelayError):
            CipherState(KEY).decrypt(first[:size])


def test_a_counter_never_wraps() -> None:
    state = CipherState(KEY, counter=LAST_COUNTER - 1)
    state.encrypt(b"the last one")
    with pytest.raises(RelayError, match="wrap"):
        state.encrypt(b"one more")
    with pytest.raises(RelayError, match="wrap"):
        state.decrypt(bytes(32))
    assert state.counter == LAST_COUNTER
