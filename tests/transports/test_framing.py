"""Bytes are cut into frames, wherever the reads happen to end."""

import itertools

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from codex_mcp.rpc.channel import Frame, UnreadableFrame
from codex_mcp.transports.framing import MAX_HEADER_BYTES, FrameReader, Style, encode

LIMIT = 24
"""In place of 64 MiB."""

TOO_LARGE = UnreadableFrame(f"the message is larger than {LIMIT} bytes")
NO_LENGTH = UnreadableFrame("the headers of the message have no usable Content-Length")


def frames_of(*reads: bytes, limit: int = LIMIT) -> list[Frame]:
    reader = FrameReader(limit)
    return [frame for read in reads for frame in reader.feed(read)] + reader.end()


@pytest.mark.parametrize(
    ("stream", "frames"),
    [
        (b"", []),
        (b"one\n", [b"one"]),
        (b"one\ntwo\n", [b"one", b"two"]),
        (b"one\r\ntwo\r\n", [b"one", b"two"]),
        (b"\n\r\n  \n\tone \n\n", [b"one"]),
        (b"one\nno line feed", [b"one", b"no line feed"]),
        (b"one\n   ", [b"one"]),
        (b"x" * LIMIT + b"\n", [b"x" * LIMIT]),
        (b"x" * (LIMIT + 1) + b"\none\n", [TOO_LARGE, b"one"]),
        (b"x" * (LIMIT + 1), [TOO_LARGE]),
        (b"Content-Length: 3\r\n\r\none", [b"one"]),
        (b"content-length:3\n\none", [b"one"]),
        (b"Content-Type: x\r\nContent-Length: 3\r\n\r\none", [b"one"]),
        (b"Content-Length: 3\r\nX-Other: y\r\n\r\none", [b"one"]),
        (b"Content-Length: 3\r\n\r\none\ntwo\n", [b"one", b"two"]),
        (b"one\nContent-Length: 3\r\n\r\ntwothree\n", [b"one", b"two", b"three"]),
        (b"Content-Length: 5\r\n\r\na\n\r\nb", [b"a\n\r\nb"]),
        (b"Content-Length: 0\r\n\r\none\n", [b"one"]),
        (b"Content-Length: 24\r\n\r\n" + b"x" * LIMIT + b"one\n", [b"x" * LIMIT, b"one"]),
        (b"Content-Length: 25\r\n\r\n" + b"x" * (LIMIT + 1) + b"one\n", [TOO_LARGE, b"one"]),
        (b"Content-Type: x\r\n\r\none\n", [NO_LENGTH, b"one"]),
        (b"Content-Length: -3\r\n\r\none\n", [NO_LENGTH, b"one"]),
        (b"Content-Length: 3x\r\n\r\none\n", [NO_LENGTH, b"one"]),
        (b"Content-Length: \xb2\r\n\r\none\n", [NO_LENGTH, b"one"]),
        (b"Content-Length\r\n\r\none\n", [NO_LENGTH, b"one"]),
        (b"Content-Length: 3\r\n" + b"x" * (LIMIT + 1) + b"\r\none\n", [TOO_LARGE, b"one"]),
        (b"Content-Length: 30\r\n\r\nhalf", [TOO_LARGE]),
        (b"Content-Length: 9\r\n\r\nhalf", []),
        (b"Content-Length: 9\r\n", []),
        (b"Content-Length: 9", [b"Content-Length: 9"]),
    ],
)
def test_a_stream_is_cut_into_its_frames_whole_or_byte_by_byte(stream: bytes, frames: list[Frame]) -> None:
    assert frames_of(stream) == frames
    assert frames_of(*(stream[at : at + 1] for at in range(len(stream)))) == frames


def test_endless_headers_are_given_up() -> None:
    stream = b"Content-Type: x\n" * MAX_HEADER_BYTES
    assert UnreadableFrame(f"the headers of the message are larger than {MAX_HEADER_BYTES} bytes") in frames_of(stream)


PIECES = st.sampled_from(
    [
        b"\n",
        b"\r\n",
        b" ",
        b"a",
        b"{}",
        b"xxxxxxxxxx",
        b"Content-",
        b"Content-Length: 3",
        b"Content-Length: 30",
        b"Content-Type: x",
    ]
)


@given(st.lists(PIECES, max_size=20).map(b"".join), st.lists(st.integers(0, 200), max_size=8))
@example(b"Content-Length: 3\n" + b"x" * 30 + b"\n\nonetwo", [30])
def test_where_a_read_ends_makes_no_difference(stream: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    reads = [stream[start:end] for start, end in itertools.pairwise(edges)]
    assert frames_of(*reads) == frames_of(stream)


@given(st.lists(st.tuples(st.binary(min_size=1, max_size=LIMIT), st.sampled_from(Style)), max_size=8), st.data())
def test_what_is_encoded_in_either_style_is_read_again_and_answered_in_the_newest(
    messages: list[tuple[bytes, Style]], data: st.DataObject
) -> None:
    # A line is JSON in one line, without blanks around it, and no header.
    messages = [
        (body if style is Style.CONTENT_LENGTH else body.hex().encode()[:LIMIT], style) for body, style in messages
    ]
    stream = b"".join(encode(body, style) for body, style in messages)
    cut = data.draw(st.integers(0, len(stream)))
    reader = FrameReader(LIMIT)
    assert reader.feed(stream[:cut]) + reader.feed(stream[cut:]) + reader.end() == [body for body, _ in messages]
    assert reader.style == (messages[-1][1] if messages else Style.LINES)


@given(st.binary(max_size=400), st.integers(1, 30))
def test_no_more_is_held_than_may_be(stream: bytes, size: int) -> None:
    reader = FrameReader(LIMIT)
    for at in range(0, len(stream), size):
        reader.feed(stream[at : at + size])
        held = int(repr(reader).split(", ")[1].split()[0])
        assert held <= LIMIT


def test_what_is_skipped_is_not_held() -> None:
    reader = FrameReader(LIMIT)
    assert reader.feed(b"Content-Length: 1000000\r\n\r\n") == []
    assert reader.feed(b"x" * 999_999) == []
    assert repr(reader) == "<FrameReader skip-body, 0 bytes held>"
    assert reader.feed(b"xone\n") == [TOO_LARGE, b"one"]


@pytest.mark.parametrize("style", Style)
@pytest.mark.parametrize("size", [1, 10, 10_000])
def test_of_a_message_that_is_too_long_the_outline_is_left(style: Style, size: int) -> None:
    message = b'{"params": {"text": "%b", "turnId": "u"}, "id": 7}' % (b"x" * 5000)
    stream = encode(message, style) + b"one\n"
    unreadable, one = frames_of(*(stream[at : at + size] for at in range(0, len(stream), size)))
    assert isinstance(unreadable, UnreadableFrame)
    assert unreadable.reason == TOO_LARGE.reason
    outline = msgspec.json.decode(unreadable.outline)
    assert (outline["id"], outline["params"]["turnId"], one) == (7, "u", b"one")


def test_frames_are_marked_off_in_two_styles() -> None:
    assert encode(b"{}", Style.LINES) == b"{}\n"
    assert encode(b"{}", Style.CONTENT_LENGTH) == b"Content-Length: 2\r\n\r\n{}"
