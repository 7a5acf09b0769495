"""The client that measures exec-servers reads every byte of them, however the bytes are cut."""

from hypothesis import given
from hypothesis import strategies as st
from websockets.frames import Opcode

from benchmarks.exec_frames import Frames, framed, is_news, output_size
from codex_mcp.execserver.envelope import encode_notification
from codex_mcp.transports.websockets.frames import frame_header
from codex_mcp.wire.exec.protocol import OutputStream, ProcessClosed, ProcessOutput

PING = bytes((0x89, 2)) + b"hi"

messages = st.lists(st.sampled_from([0, 1, 125, 126, 65_535, 65_536]).map(lambda size: b"x" * size), max_size=4)


@given(messages, st.data())
def test_messages_come_out_whole_however_they_are_cut(sent: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(frame_header(len(message), Opcode.TEXT) + message + PING for message in sent)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    frames = Frames()
    heard: list[bytes] = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        heard += frames.feed(stream[start:end])
    assert heard == sent


def test_a_message_in_several_frames_is_one() -> None:
    frames = Frames()
    head, tail = frame_header(2, Opcode.TEXT, 0) + b"ab", frame_header(1, Opcode.CONT) + b"c"
    assert list(frames.feed(head + PING + tail)) == [b"abc"]


@given(messages)
def test_what_is_sent_is_masked_and_readable_as_it_is(sent: list[bytes]) -> None:
    for message in sent:
        frame = framed(message)
        assert frame[1] & 0x80
        assert frame.endswith(bytes(4) + message)
        assert len(frame) == len(frame_header(len(message), Opcode.TEXT)) + 4 + len(message)


@given(st.binary(max_size=100))
def test_the_size_of_an_output_is_that_of_its_bytes(data: bytes) -> None:
    message = encode_notification("process/output", ProcessOutput("p", 1, OutputStream.STDOUT, data))
    assert output_size(message) == len(data)
    assert is_news(message, b"process/output")


def test_other_news_has_no_output() -> None:
    message = encode_notification("process/closed", ProcessClosed("p", 2))
    assert output_size(message) == 0
    assert is_news(message, b"process/closed")
