"""The messages of a WebSocket client, however its bytes are cut, beside those that the library reads."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from websockets.frames import Frame, Opcode

from codex_mcp.transports.masked_messages import MaskedMessages, Message, Other

LIMIT = 70_000

usual = st.one_of(
    st.builds(Frame, st.just(Opcode.BINARY), st.binary(max_size=300)),
    st.builds(Frame, st.just(Opcode.BINARY), st.sampled_from([125, 126, 127, 65_535, 65_536, LIMIT]).map(bytes)),
    st.builds(Frame, st.just(Opcode.TEXT), st.text(max_size=50).map(str.encode)),
    st.builds(Frame, st.sampled_from([Opcode.PING, Opcode.PONG]), st.binary(max_size=125)),
)
cuts = st.lists(st.integers(0, 100_000), max_size=12)


def serialized(frame: Frame) -> bytes:
    return frame.serialize(mask=True)


def fed(data: bytes, at: Sequence[int]) -> list[Message | Other]:
    """Cut there, and fed piece by piece."""
    places = sorted({0, len(data), *(place % (len(data) + 1) for place in at)})
    reader = MaskedMessages(LIMIT)
    return [each for start, end in pairwise(places) for each in reader.feed(data[start:end])]


def joined(found: Sequence[Message | Other]) -> tuple[list[Message], bytes]:
    return [each for each in found if isinstance(each, Message)], b"".join(
        each.raw for each in found if isinstance(each, Other)
    )


@given(st.lists(usual, max_size=6), cuts)
def test_messages_and_the_rest_come_in_order_however_they_are_cut(frames: list[Frame], at: list[int]) -> None:
    raw = [serialized(frame) for frame in frames]
    expected = [
        Message(bytes(frame.data)) if frame.opcode is Opcode.BINARY else Other(each)
        for frame, each in zip(frames, raw, strict=True)
    ]
    assert fed(b"".join(raw), at) == expected


@pytest.mark.parametrize(
    "strange",
    [
        serialized(Frame(Opcode.BINARY, b"a part", fin=False)),
        serialized(Frame(Opcode.CONT, b"the rest")),
        b"\xc2\x83abcd123",
        serialized(Frame(Opcode.BINARY, bytes(LIMIT + 1))),
        Frame(Opcode.BINARY, b"not masked").serialize(mask=False),
        Frame(Opcode.BINARY, bytes(300)).serialize(mask=False),
        b"\x83\x80abcd",
        b"\x82\xff" + b"\xff" * 8,
    ],
    ids=["fragment", "rest", "reserved", "too long", "not masked", "long, not masked", "unknown", "endless"],
)
def test_from_what_is_unusual_on_the_library_reads(strange: bytes) -> None:
    before, after = serialized(Frame(Opcode.BINARY, b"before")), serialized(Frame(Opcode.BINARY, b"after"))
    for at in ((), (len(before),), range(len(before), len(before) + 12)):
        found = fed(before + strange + after, at)
        assert joined(found) == ([Message(b"before")], strange + after)


@given(st.lists(usual.map(serialized) | st.binary(max_size=40), max_size=5).map(b"".join), cuts)
@example(b"\x82\xfe\x00", [])
@example(b"\x00\x00", [1])
def test_cuts_change_nothing(data: bytes, at: list[int]) -> None:
    assert joined(fed(data, at)) == joined(fed(data, []))
