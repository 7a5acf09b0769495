"""Each token of the handshake against fixed keys: the transcript's hash and chaining key after it.

The vectors come from a handshake of Codex 0.166.0 with known keys. `Spec` computes them as the specification reads,
from bare primitives; our code must pass through the same states, in the same order.
"""

import hashlib

import pytest
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from codex_mcp.relay import handshake
from codex_mcp.relay.errors import RelayError
from codex_mcp.relay.frames import Handshake, decode
from codex_mcp.relay.handshake import Fresh, Initiator, Place, Responder
from codex_mcp.relay.keys import PrivateKeys, PublicKeys, encapsulate
from codex_mcp.relay.symmetric import SymmetricState
from tests.relay.test_handshake import recorded_place
from tests.relay.test_keys import LOW_ORDER
from tests.relay.test_symmetric import NAME, hkdf
from tests.support.relay import PLACE, encapsulation, first_message, fresh_for, private_keys, raw, recording

VECTORS: dict[str, tuple[str, str]] = {
    "<- s": (
        "41fe5f019cdd88e3210c55776d644e60220d064decc459d8d76290a2e257e930",
        "646856ce6fda9f9f037c69557c3c9f5ada7d1bc70b0c4beea72befcaf862edfa",
    ),
    "-> skem": (
        "0042ddcf947141dc52963659e6df3959441ad09ed7782b1684bf424971eedfb6",
        "23fd584cdba95e54d2962af0c000371274060845fa4ebab24a1e118dc21d8003",
    ),
    "-> e": (
        "7af5f88ed6b8ae2841cf47a8defdd1f3fd64d3b75dd8dfb710756933c3de5cd2",
        "23fd584cdba95e54d2962af0c000371274060845fa4ebab24a1e118dc21d8003",
    ),
    "-> es": (
        "7af5f88ed6b8ae2841cf47a8defdd1f3fd64d3b75dd8dfb710756933c3de5cd2",
        "3792567b717b60ed88417369786ba2acc55f5d770487e2400121230fb93939d2",
    ),
    "-> s": (
        "b2649960f66b0acc2a82f2e588891397e5728ab36adb8bf0edeefa1505c8ee91",
        "3792567b717b60ed88417369786ba2acc55f5d770487e2400121230fb93939d2",
    ),
    "-> ss": (
        "b2649960f66b0acc2a82f2e588891397e5728ab36adb8bf0edeefa1505c8ee91",
        "7fdc7db777a22379ef92543f830a26fd2d690fd1d1faf8634c997bec399c6d82",
    ),
    "<- ekem": (
        "43f012ad284cb32034fb1a2234ab81e12999a7316042431ff188e7616db54ab6",
        "7e211b6c1ea8848b8e2624b1fa90216251512e3e81d4021921f1d806cd22641a",
    ),
    "<- skem": (
        "a1aa730041eec6b54821e7fb0552866cb5e24314378b8d4065bf3143b1f941fe",
        "434852f9866b24671ef6bd1ccfe3d2c98497525216dffd0a7d48a29e8d41e4d4",
    ),
    "<- e": (
        "1781d1fd601711610f4df867cbb1339499d493abfb8a980607f993eb98a459ba",
        "434852f9866b24671ef6bd1ccfe3d2c98497525216dffd0a7d48a29e8d41e4d4",
    ),
    "<- ee": (
        "1781d1fd601711610f4df867cbb1339499d493abfb8a980607f993eb98a459ba",
        "141693a47f48e68a04791e8fb0046a6cd74b9b6daaa6ecbe44face9dd1aa7326",
    ),
    "<- se": (
        "1781d1fd601711610f4df867cbb1339499d493abfb8a980607f993eb98a459ba",
        "c1e8d0a30674271287551b3543a131f3a1e2efe447862edec4dd41c5fb0a4b90",
    ),
}
"""The hash and the chaining key after each token."""


class Spec:
    """The state of the handshake, as the specification describes it."""

    def __init__(self, place: Place) -> None:
        self.h = self.ck = hashlib.sha256(NAME).digest()
        self._key: bytes | None = None
        self._used = 0
        parts = ("codex-exec-server-relay-noise/v1", place.environment_id, place.registration_id, place.stream_id)
        self.hashed(b"".join(len(part).to_bytes(8, "big") + part.encode() for part in parts))

    @property
    def state(self) -> tuple[str, str]:
        return self.h.hex(), self.ck.hex()

    def hashed(self, data: bytes) -> bytes:
        self.h = hashlib.sha256(self.h + data).digest()
        return data

    def keyed(self, secret: bytes) -> None:
        self.ck, self._key, _ = hkdf(self.ck, secret)
        self._used = 0

    def keyed_and_hashed(self, secret: bytes) -> None:
        self.ck, mixed, self._key = hkdf(self.ck, secret)
        self._used = 0
        self.hashed(mixed)

    def opened(self, sealed: bytes) -> bytes:
        if self._key is None:
            return self.hashed(sealed)
        plain = AESGCM(self._key).decrypt(self._nonce(), sealed, self.h)
        self.hashed(sealed)
        return plain

    def sealed(self, plain: bytes) -> bytes:
        assert self._key is not None
        return self.hashed(AESGCM(self._key).encrypt(self._nonce(), plain, self.h))

    def _nonce(self) -> bytes:
        self._used += 1
        return bytes(4) + (self._used - 1).to_bytes(8, "big")


def agreed(seed: bytes, other: bytes) -> bytes:
    return X25519PrivateKey.from_private_bytes(seed[:32]).exchange(X25519PublicKey.from_public_bytes(other))


def walked() -> tuple[dict[str, tuple[str, str]], bytes]:
    """The states of the recorded handshake, as its executor sees them, and the second message."""
    recorded = recording("harness")
    executor, ephemeral = raw(recorded["executor_seed"]), raw(recorded["ephemeral_seed"])
    own, drawn = PrivateKeys(executor).public, PrivateKeys(ephemeral).public
    frame = decode(raw(recorded["first"])).body
    assert isinstance(frame, Handshake)
    first, spec, states = frame.payload, Spec(recorded_place(recorded)), {}

    def take(size: int) -> bytes:
        nonlocal first
        taken, first = first[:size], first[size:]
        return taken

    spec.hashed(own.x25519)
    spec.hashed(own.mlkem)
    states["<- s"] = spec.state
    spec.keyed_and_hashed(MLKEM768PrivateKey.from_seed_bytes(executor[32:]).decapsulate(spec.opened(take(1088))))
    states["-> skem"] = spec.state
    theirs = spec.hashed(take(32))
    spec.hashed(take(1184))
    states["-> e"] = spec.state
    spec.keyed(agreed(executor, theirs))
    states["-> es"] = spec.state
    static = spec.opened(take(48))
    spec.opened(take(1200))
    states["-> s"] = spec.state
    spec.keyed(agreed(executor, static))
    states["-> ss"] = spec.state
    assert spec.opened(first).decode() == recorded["authorization"]
    for_ephemeral, for_static = (encapsulation(*recorded[name]) for name in ("for_ephemeral", "for_static"))
    parts = [spec.hashed(for_ephemeral.ciphertext)]
    spec.keyed(for_ephemeral.secret)
    states["<- ekem"] = spec.state
    parts.append(spec.sealed(for_static.ciphertext))
    spec.keyed_and_hashed(for_static.secret)
    states["<- skem"] = spec.state
    parts += [spec.hashed(drawn.x25519), spec.hashed(drawn.mlkem)]
    states["<- e"] = spec.state
    spec.keyed(agreed(ephemeral, theirs))
    states["<- ee"] = spec.state
    spec.keyed(agreed(ephemeral, static))
    states["<- se"] = spec.state
    parts.append(spec.sealed(b""))
    return states, b"".join(parts)


def test_the_specification_gives_the_vectors_and_the_recorded_answer() -> None:
    states, second = walked()
    assert states == VECTORS
    assert second == raw(recording("harness")["second"])


@pytest.fixture
def passed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The states through which our code passes."""
    states: list[tuple[str, str]] = []

    class Watched(SymmetricState):
        def mix_hash(self, data: bytes) -> None:
            super().mix_hash(data)
            states.append((self.hash.hex(), self._chain.hex()))

        def mix_key(self, secret: bytes) -> None:
            super().mix_key(secret)
            states.append((self.hash.hex(), self._chain.hex()))

    monkeypatch.setattr(handshake, "SymmetricState", Watched)
    return states


def test_our_executor_passes_through_every_vector(passed: list[tuple[str, str]]) -> None:
    recorded = recording("harness")
    frame = decode(raw(recorded["first"])).body
    assert isinstance(frame, Handshake)
    responder = Responder(PrivateKeys(raw(recorded["executor_seed"])), recorded_place(recorded))
    responder.read(frame.payload)
    drawn = (encapsulation(*recorded[name]) for name in ("for_ephemeral", "for_static"))
    responder.answer(Fresh(PrivateKeys(raw(recorded["ephemeral_seed"])), *drawn))
    assert [state for state in passed if state in VECTORS.values()] == list(VECTORS.values())


def test_our_harness_passes_through_the_same_states_as_our_executor(passed: list[tuple[str, str]]) -> None:
    initiator, first = first_message()
    responder = Responder(private_keys("executor"), PLACE)
    introduction = responder.read(first)
    second, _ = responder.answer(fresh_for(responder, introduction.harness.mlkem))
    initiator.finish(second)
    assert len(passed) == 2 * len(set(passed))
    assert all(passed.count(state) == 2 for state in passed)


def test_a_handshake_of_another_protocol_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    _, first = first_message()
    monkeypatch.setattr(handshake, "DOMAIN", "codex-exec-server-relay-noise/v2")
    with pytest.raises(RelayError, match="authentic"):
        Responder(private_keys("executor"), PLACE).read(first)


@pytest.mark.parametrize("size", [0, 1, 1087, 1088, 2191, 2192, 2224, 3407, 3423])
def test_a_truncated_second_message_is_rejected(size: int) -> None:
    initiator, first = first_message()
    responder = Responder(private_keys("executor"), PLACE)
    introduction = responder.read(first)
    second, _ = responder.answer(fresh_for(responder, introduction.harness.mlkem))
    with pytest.raises(RelayError):
        initiator.finish(second[:size])


@pytest.mark.parametrize("point", LOW_ORDER)
def test_a_low_order_ephemeral_key_of_the_executor_is_rejected(point: bytes) -> None:
    initiator, first = first_message()
    responder = Responder(private_keys("executor"), PLACE)
    introduction = responder.read(first)
    second, _ = responder.answer(fresh_for(responder, introduction.harness.mlkem))
    start = 1088 + 1088 + 16
    with pytest.raises(RelayError, match="X25519"):
        initiator.finish(second[:start] + point + second[start + 32 :])


class LowOrder(PrivateKeys):
    """A harness whose static key is a low-order point, so that what it agrees on is always zero."""

    public = PublicKeys(LOW_ORDER[0], private_keys("harness").public.mlkem)

    def agree(self, other: bytes) -> bytes:
        return bytes(32)


def test_a_low_order_static_key_of_the_harness_is_rejected() -> None:
    executor = private_keys("executor").public
    initiator = Initiator(LowOrder(bytes(96)), executor, PLACE)
    first = initiator.first("token", private_keys("ephemeral"), encapsulate(executor.mlkem))
    with pytest.raises(RelayError, match="X25519"):
        Responder(private_keys("executor"), PLACE).read(first)


@pytest.mark.parametrize("point", LOW_ORDER)
def test_a_low_order_key_of_the_executor_from_the_registry_is_rejected(point: bytes) -> None:
    executor = PublicKeys(point, private_keys("executor").public.mlkem)
    initiator = Initiator(private_keys("harness"), executor, PLACE)
    with pytest.raises(RelayError, match="X25519"):
        initiator.first("token", private_keys("ephemeral"), encapsulate(executor.mlkem))
