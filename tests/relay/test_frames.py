"""Relay frames: their bytes, what Codex sends, and what is not a frame."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from codex_mcp.relay.errors import RelayError
from codex_mcp.relay.frames import (
    MAX_FRAME_BYTES,
    MAX_SEGMENTS,
    MAX_STREAM_ID,
    MAX_U32,
    Ack,
    Data,
    Frame,
    Handshake,
    Heartbeat,
    RecordKind,
    Reset,
    Resume,
    decode,
    encode,
    read_header,
)

u32 = st.integers(0, MAX_U32)
some = st.binary(min_size=1, max_size=300)
data = st.integers(1, MAX_SEGMENTS).flatmap(
    lambda count: st.builds(Data, u32, some, st.integers(0, count - 1), st.just(count))
)
bodies = st.one_of(
    data,
    st.builds(Ack),
    st.builds(Resume, u32),
    st.builds(Reset, st.text(min_size=1, max_size=50)),
    st.builds(Heartbeat),
    st.builds(Handshake, some),
)
stream_ids = st.text(min_size=1, max_size=30).filter(str.strip)
frames = st.builds(Frame, stream_ids, bodies, u32, u32)


@given(frames)
def test_a_frame_survives_its_bytes(frame: Frame) -> None:
    assert decode(encode(frame)) == frame
    header = read_header(encode(frame))
    assert (header.stream_id, header.ack, header.ack_bits) == (frame.stream_id, frame.ack, frame.ack_bits)
    assert header.kind.name == type(frame.body).__name__.upper()


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (Frame("s", Resume(0)), "0801 120173 3a00"),
        (Frame("s", Data(0, b"p")), "0801 120173 2a05 1801 220170"),
        (Frame("s", Data(300, b"p", 1, 2), 7, 5), "0801 120173 1807 2005 2a0a 08ac02 1001 1802 220170"),
        (Frame("s", Ack()), "0801 120173 3200"),
        (Frame("s", Reset("r")), "0801 120173 4203 0a0172"),
        (Frame("s", Heartbeat()), "0801 120173 4a00"),
        (Frame("s", Handshake(b"h")), "0801 120173 5203 0a0168"),
    ],
)
def test_the_bytes_of_each_kind(frame: Frame, expected: str) -> None:
    assert encode(frame) == bytes.fromhex(expected)
    assert decode(bytes.fromhex(expected)) == frame


def test_unknown_fields_and_traces_are_skipped() -> None:
    known = encode(Frame("s", Data(1, b"p")))
    traces = bytes.fromhex("5a0174") + bytes.fromhex("620174")
    others = (
        bytes.fromhex("a00101")
        + bytes.fromhex("a10100000000000000 00".replace(" ", ""))
        + bytes.fromhex("a50100000000")
    )
    unknown = bytes.fromhex("0801 120173 2a07 2801 1801 220170")
    assert decode(unknown) == Frame("s", Data(0, b"p"))
    assert decode(known + traces + others) == Frame("s", Data(1, b"p"))
    assert decode(encode(Frame("s", Ack())) + known[2:]) == Frame("s", Data(1, b"p"))  # of two bodies the last counts


def test_unknown_fields_of_bodies_are_skipped() -> None:
    data = bytes.fromhex("0801 120173 2a08 1801 220170 2a0178".replace(" ", ""))
    assert decode(data) == Frame("s", Data(0, b"p"))
    assert decode(bytes.fromhex("0801 120173 3a05 0807 120178")) == Frame("s", Resume(7))
    assert decode(bytes.fromhex("0801 120173 5206 0a0168 120178")) == Frame("s", Handshake(b"h"))


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        (b"", "version"),
        (bytes.fromhex("0802120173 3a00"), "version 2"),
        (bytes.fromhex("0801 3a00"), "stream id"),
        (bytes.fromhex("0801 120120 3a00"), "stream id"),
        (bytes.fromhex("0801 1201ff 3a00"), "UTF-8"),
        (bytes.fromhex("0801 120173"), "no body"),
        (bytes.fromhex("0801 120173 2a02 1801"), "payload"),
        (bytes.fromhex("0801 120173 2a03 220170"), "segment 0 of 0"),
        (bytes.fromhex("0801 120173 2a07 1001 1801 220170"), "segment 1 of 1"),
        (bytes.fromhex("0801 120173 2a05 1841 220170"), "segment 0 of 65"),
        (bytes.fromhex("0801 120173 4200"), "reason"),
        (bytes.fromhex("0801 120173 5200"), "payload"),
        (bytes.fromhex("0801 120173 2a7f 1801"), "middle of a field"),
        (bytes.fromhex("0801 120173 18"), "middle of a number"),
        (bytes.fromhex("0801 120173 18ffffffffffffffffffff01"), "too long"),
        (bytes.fromhex("0801 120173 188080808010 3a00"), "32 bits"),
        (bytes.fromhex("0801 120173 1b 3a00"), "kind 3"),
        (bytes.fromhex("0001 120173 3a00"), "number 0"),
        (encode(Frame("s" * (MAX_STREAM_ID + 1), Ack())), "129 bytes"),
        (encode(Frame("s", Handshake(bytes(MAX_FRAME_BYTES)))), "limit"),
    ],
)
def test_what_is_not_a_frame_is_refused(broken: bytes, why: str) -> None:
    with pytest.raises(RelayError, match=why):
        decode(broken)


@given(st.binary(max_size=200) | st.builds(bytes.__add__, frames.map(encode), st.binary(max_size=20)))
@example(encode(Frame("s", Data(0, b"p")))[:-1])
def test_any_bytes_are_a_frame_or_refused(garbage: bytes) -> None:
    try:
        frame = decode(garbage)
    except RelayError:
        return
    assert decode(encode(frame)) == frame


@given(frames, st.data())
def test_a_changed_frame_is_a_frame_or_refused(frame: Frame, draw: st.DataObject) -> None:
    changed = bytearray(encode(frame))
    changed[draw.draw(st.integers(0, len(changed) - 1))] ^= draw.draw(st.integers(1, 255))
    try:
        read_header(bytes(changed))
        decode(bytes(changed))
    except RelayError:
        pass


def test_kinds_are_field_numbers() -> None:
    assert [kind.value for kind in RecordKind] == [5, 6, 7, 8, 9, 10]
