"""Identity keys: their spelling in JSON, their fingerprints, and keys that are refused."""

import msgspec
import pytest

from codex_mcp.relay.errors import RelayError
from codex_mcp.relay.keys import (
    SEED_BYTES,
    SUITE,
    PrivateKeys,
    PublicKeyObject,
    encapsulate,
    public_key_object,
    public_keys,
)
from tests.support.relay import private_keys, recording

LOW_ORDER = [
    bytes(32),
    bytes([1, *bytes(31)]),
    bytes.fromhex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
    bytes.fromhex("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
    bytes.fromhex("ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
    bytes.fromhex("edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
    bytes.fromhex("eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
]
"""Every point of small order on Curve25519 that fits into 32 bytes, as listed with RFC 7748's discussion."""


@pytest.mark.parametrize("point", LOW_ORDER)
def test_a_low_order_key_is_refused(point: bytes) -> None:
    with pytest.raises(RelayError, match="X25519"):
        private_keys("any").agree(point)


def test_public_keys_survive_their_json() -> None:
    public = private_keys("any").public
    assert public_keys(public_key_object(public)) == public


def test_the_keys_that_codex_sends_are_read() -> None:
    spelled = recording("executor")["executor_public_key"]
    assert msgspec.to_builtins(public_key_object(public_keys(msgspec.convert(spelled, PublicKeyObject)))) == spelled


def test_the_same_seed_gives_the_same_keys_and_fingerprint() -> None:
    assert private_keys("a").public == private_keys("a").public
    assert private_keys("a").public.fingerprint != private_keys("b").public.fingerprint
    assert private_keys("a").public.fingerprint.startswith("sha256:")
    with pytest.raises(ValueError, match=str(SEED_BYTES)):
        PrivateKeys(bytes(SEED_BYTES - 1))


def test_secrets_have_no_readable_form() -> None:
    made = encapsulate(private_keys("any").public.mlkem)
    assert made.secret.hex() not in repr(made)
    assert repr(made.secret) not in repr(made)
    assert private_keys("any").decapsulate(made.ciphertext) == made.secret


@pytest.mark.parametrize(
    "broken",
    [
        {"suite": "Noise_IK_25519_AESGCM_SHA256"},
        {"x25519_public_key": "AAAA"},
        {"x25519_public_key": "not base64!"},
        {"mlkem768_public_key": "AAAA"},
        {"mlkem768_public_key": "//8" + "/" * 1576},
        {"unknown": 1},
    ],
)
def test_other_keys_are_refused(broken: dict[str, object]) -> None:
    spelled = msgspec.to_builtins(public_key_object(private_keys("any").public)) | broken
    with pytest.raises((RelayError, msgspec.ValidationError)):
        public_keys(msgspec.convert(spelled, PublicKeyObject))


def test_a_ciphertext_of_another_size_is_refused() -> None:
    with pytest.raises(RelayError, match="ciphertext"):
        private_keys("any").decapsulate(b"short")
    with pytest.raises(RelayError, match="ML-KEM key"):
        encapsulate(b"short")
    assert public_keys(public_key_object(private_keys("any").public)) == private_keys("any").public
    assert PublicKeyObject(SUITE, "", "").suite == SUITE
