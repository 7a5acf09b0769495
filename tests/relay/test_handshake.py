"""The handshake: recorded with Codex 0.166.0 in both roles, and everything that must be rejected."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.relay.errors import RelayError
from codex_mcp.relay.frames import Data, Handshake, Resume, decode, encode
from codex_mcp.relay.handshake import (
    DOMAIN,
    FIRST_BYTES,
    MAX_AUTHORIZATION,
    SECOND_BYTES,
    Fresh,
    Initiator,
    Place,
    Responder,
    prologue,
)
from codex_mcp.relay.keys import PrivateKeys, PublicKeyObject, public_keys
from codex_mcp.relay.records import RecordReader, records
from tests.relay.test_keys import LOW_ORDER
from tests.support.relay import (
    PLACE,
    encapsulation,
    first_message,
    fresh_for,
    private_keys,
    raw,
    recording,
    shaken,
)

EPHEMERAL_END = 1088 + 32
"""Where the harness's ephemeral X25519 key ends in the first message."""

FIRST = first_message()


def recorded_place(recorded: dict[str, str]) -> Place:
    return Place(recorded["environment_id"], recorded["registration_id"], recorded["stream_id"])


def test_a_recorded_handshake_with_codex_as_executor() -> None:
    recorded = recording("executor")
    executor = public_keys(msgspec.convert(recorded["executor_public_key"], PublicKeyObject))
    initiator = Initiator(PrivateKeys(raw(recorded["harness_seed"])), executor, recorded_place(recorded))
    drawn = encapsulation(recorded["encapsulated_secret"], recorded["encapsulated_ciphertext"])
    first = initiator.first(recorded["authorization"], PrivateKeys(raw(recorded["ephemeral_seed"])), drawn)
    assert first == raw(recorded["first"])
    ciphers = initiator.finish(raw(recorded["second"]))
    for number, sent in enumerate(recorded["sent"]):
        (record,) = records(sent["message"].encode())
        frame = decode(raw(sent["frame"]))
        assert frame.body == Data(number, ciphers.sending.encrypt(record))
        assert encode(frame) == raw(sent["frame"])
    reader = RecordReader(ciphers.receiving)
    answers = []
    for received in recorded["received"]:
        body = decode(raw(received)).body
        assert isinstance(body, Data)
        answers += [message.decode() for message in reader.opened(body.payload)]
    assert answers == recorded["answers"]


def test_a_recorded_handshake_with_codex_as_harness() -> None:
    recorded = recording("harness")
    assert decode(raw(recorded["resume"])).body == Resume(0)
    frame = decode(raw(recorded["first"]))
    assert isinstance(frame.body, Handshake)
    assert encode(frame) == raw(recorded["first"])
    responder = Responder(PrivateKeys(raw(recorded["executor_seed"])), recorded_place(recorded))
    introduction = responder.read(frame.body.payload)
    assert introduction.authorization == recorded["authorization"]
    assert introduction.harness == public_keys(msgspec.convert(recorded["harness_public_key"], PublicKeyObject))
    fresh = Fresh(
        PrivateKeys(raw(recorded["ephemeral_seed"])),
        encapsulation(*recorded["for_ephemeral"]),
        encapsulation(*recorded["for_static"]),
    )
    second, ciphers = responder.answer(fresh)
    assert second == raw(recorded["second"])
    data = decode(raw(recorded["data"])).body
    assert isinstance(data, Data)
    assert RecordReader(ciphers.receiving).opened(data.payload) == [recorded["message"].encode()]


def test_both_sides_agree_and_each_direction_has_its_own_key() -> None:
    harness, executor = shaken()
    assert executor.receiving.decrypt(harness.sending.encrypt(b"to the executor")) == b"to the executor"
    assert harness.receiving.decrypt(executor.sending.encrypt(b"to the harness")) == b"to the harness"
    with pytest.raises(RelayError):
        harness.receiving.decrypt(harness.sending.encrypt(b"reflected"))


def test_the_sizes_are_those_of_the_profile() -> None:
    assert (FIRST_BYTES, SECOND_BYTES) == (3568, 3424)
    _, first = first_message(authorization="x" * 10)
    assert len(first) == 3578


def test_the_prologue_names_the_place() -> None:
    expected = b"\0\0\0\0\0\0\0\x20" + DOMAIN.encode()
    expected += b"\0\0\0\0\0\0\0\x01e" + b"\0\0\0\0\0\0\0\x02rr" + b"\0\0\0\0\0\0\0\x01s"
    assert prologue(Place("e", "rr", "s")) == expected


@pytest.mark.parametrize("part", ["environment_id", "registration_id", "stream_id"])
def test_a_handshake_for_another_place_is_rejected(part: str) -> None:
    _, first = first_message()
    elsewhere = msgspec.structs.replace(PLACE, **{part: "another"})
    with pytest.raises(RelayError, match="authentic"):
        Responder(private_keys("executor"), elsewhere).read(first)


def test_a_handshake_for_another_executor_is_rejected() -> None:
    _, first = first_message()
    with pytest.raises(RelayError):
        Responder(private_keys("another"), PLACE).read(first)


@given(st.integers(0, 8 * (FIRST_BYTES + 5) - 1))
def test_any_flipped_bit_of_the_first_message_is_rejected(bit: int) -> None:
    _, first = FIRST
    flipped = bytearray(first)
    flipped[bit // 8] ^= 1 << bit % 8
    responder = Responder(private_keys("executor"), PLACE)
    with pytest.raises(RelayError):
        responder.read(bytes(flipped))


@given(st.integers(0, 8 * SECOND_BYTES - 1))
def test_any_flipped_bit_of_the_second_message_is_rejected(bit: int) -> None:
    initiator, first = first_message()
    responder = Responder(private_keys("executor"), PLACE)
    introduction = responder.read(first)
    second, _ = responder.answer(fresh_for(responder, introduction.harness.mlkem))
    flipped = bytearray(second)
    flipped[bit // 8] ^= 1 << bit % 8
    with pytest.raises(RelayError):
        initiator.finish(bytes(flipped))


@given(st.integers(0, FIRST_BYTES + 4))
def test_a_truncated_first_message_is_rejected(size: int) -> None:
    with pytest.raises(RelayError):
        Responder(private_keys("executor"), PLACE).read(FIRST[1][:size])


@given(st.binary(max_size=2 * SECOND_BYTES))
def test_bytes_that_are_no_handshake_are_rejected(garbage: bytes) -> None:
    initiator, _ = first_message()
    with pytest.raises(RelayError):
        initiator.finish(garbage)
    with pytest.raises(RelayError):
        Responder(private_keys("executor"), PLACE).read(garbage)


@pytest.mark.parametrize("point", LOW_ORDER)
def test_a_low_order_ephemeral_key_is_rejected(point: bytes) -> None:
    _, first = FIRST
    with pytest.raises(RelayError, match="X25519"):
        Responder(private_keys("executor"), PLACE).read(first[:1088] + point + first[EPHEMERAL_END:])


def test_an_answer_cannot_be_used_twice_or_for_another_handshake() -> None:
    initiator, first = first_message()
    responder = Responder(private_keys("executor"), PLACE)
    introduction = responder.read(first)
    fresh = fresh_for(responder, introduction.harness.mlkem)
    second, _ = responder.answer(fresh)
    with pytest.raises(RelayError, match="twice"):
        responder.answer(fresh)
    initiator.finish(second)
    with pytest.raises(RelayError):
        initiator.finish(second)
    later, _ = first_message()
    with pytest.raises(RelayError):
        later.finish(second)


def test_a_replayed_first_message_gives_keys_that_its_sender_does_not_have() -> None:
    """The executor draws new keys, so records of the first time do not open; and `admission` refuses the stream."""
    initiator, first = first_message()
    ends = []
    for name in ("first time", "replayed"):
        responder = Responder(private_keys("executor"), PLACE)
        introduction = responder.read(first)
        ends.append(responder.answer(fresh_for(responder, introduction.harness.mlkem, name)))
    harness = initiator.finish(ends[0][0])
    record = harness.sending.encrypt(b"a record")
    assert ends[0][1].receiving.decrypt(record) == b"a record"
    with pytest.raises(RelayError):
        ends[1][1].receiving.decrypt(record)


def test_an_authorization_has_a_limit_and_is_text() -> None:
    first_message(authorization="x" * MAX_AUTHORIZATION)
    with pytest.raises(RelayError, match="limit"):
        first_message(authorization="x" * (MAX_AUTHORIZATION + 1))
    with pytest.raises(RelayError, match="not text"):
        Responder(private_keys("executor"), PLACE).read(first_message(authorization=NotText("x"))[1])


class NotText(str):
    def encode(self, *_: object) -> bytes:
        return b"\xff"
