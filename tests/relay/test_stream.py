"""One stream: messages over frames, acknowledgements, a peer like Codex 0.166.0, a broken connection."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.relay.errors import PROTOCOL_ERROR, RelayError, StreamReset
from codex_mcp.relay.frames import MAX_U32, Ack, Data, Frame, Handshake, Heartbeat, Reset, Resume, decode
from codex_mcp.relay.reordering import WINDOW
from codex_mcp.relay.retention import GIVE_UP
from codex_mcp.relay.stream import ACK_FRAMES, ACK_SECONDS, RelayStream, reset_frame
from tests.support.relay import paired_ciphers


def streams(*, greeted: bool = True) -> tuple[RelayStream, RelayStream]:
    ours, theirs = paired_ciphers()
    harness, executor = RelayStream("s", ours), RelayStream("s", theirs)
    if greeted:
        harness.frame_received(decode(executor.greeting()), 0)
        executor.frame_received(decode(harness.greeting()), 0)
    return harness, executor


def deliver(frames: list[bytes], to: RelayStream, now: float = 0) -> tuple[list[bytes], list[bytes]]:
    """The messages that arrive, and the frames that come back."""
    messages: list[bytes] = []
    answers: list[bytes] = []
    for frame in frames:
        arrived = to.frame_received(decode(frame), now)
        messages += arrived.messages
        answers += arrived.frames
    return messages, answers


def as_0_166_0(frames: list[bytes]) -> list[Frame]:
    """Codex 0.166.0 fills in no acknowledgement."""
    return [Frame(frame.stream_id, frame.body) for frame in map(decode, frames)]


@given(st.lists(st.binary(min_size=1, max_size=100), max_size=10))
def test_messages_arrive(messages: list[bytes]) -> None:
    harness, executor = streams()
    sent = [frame for message in messages for frame in harness.send(message, 0)]
    assert deliver(sent, executor)[0] == messages


def test_towards_a_peer_that_never_acknowledges_nothing_is_repeated_or_added() -> None:
    harness, executor = streams(greeted=False)
    sent = [frame for number in range(3 * WINDOW) for frame in executor.send(b"%d" % number, 0)]
    assert len(sent) == 3 * WINDOW
    assert executor.next_due is None
    answers = [harness.frame_received(frame, 0).frames for frame in as_0_166_0(sent)]
    assert answers == [[]] * 3 * WINDOW
    assert not harness.can_resume
    assert harness.next_due is None


def test_every_frame_says_what_has_arrived() -> None:
    harness, executor = streams(greeted=False)
    deliver([frame for number in range(3) for frame in harness.send(b"%d" % number, 0)], executor)
    (frame,) = executor.send(b"x", 0)
    assert decode(frame).ack == 2


def test_few_frames_are_acknowledged_soon_and_many_at_once() -> None:
    harness, executor = streams()
    assert deliver(harness.send(b"one", 0), executor)[1] == []
    assert executor.next_due == ACK_SECONDS
    assert executor.due(ACK_SECONDS / 2) == []
    ack = executor.due(ACK_SECONDS)[0]
    assert decode(ack) == Frame("s", Ack())
    assert executor.due(1) == []
    deliver([ack], harness)
    assert harness.next_due is None
    more = [frame for _ in range(ACK_FRAMES) for frame in harness.send(b"more", 1)]
    assert deliver(more[:2], executor, 1)[1] == []  # the second waits with the first
    (ack,) = deliver(more[2:], executor, 1)[1]
    assert decode(ack) == Frame("s", Ack(), ack=ACK_FRAMES)


def test_a_full_window_continues_with_the_acknowledgements() -> None:
    harness, executor = streams()
    message = bytes(3_000_000)
    frames = harness.send(message, 0)
    assert len(frames) < WINDOW
    assert harness.queued_bytes > 0
    arrived: list[bytes] = []
    while frames:
        messages, answers = deliver(frames, executor)
        arrived += messages
        frames = deliver(answers, harness)[1]
    assert arrived == [message]
    assert harness.queued_bytes == 0


def test_a_lost_frame_is_reported_and_repeated() -> None:
    harness, executor = streams()
    first, second, third = (harness.send(text, 0)[0] for text in (b"1", b"2", b"3"))
    assert deliver([first], executor)[0] == [b"1"]
    messages, answers = deliver([third], executor, 1)
    assert messages == []
    assert decode(answers[-1]).ack_bits == 0b10
    repeated = deliver(answers, harness, 1)[1]
    assert [decode(frame).body for frame in repeated] == [decode(second).body]
    assert deliver(repeated, executor, 1)[0] == [b"2", b"3"]


def test_after_a_cut_both_sides_repeat_what_was_lost() -> None:
    harness, executor = streams()
    lost_there, lost_here = harness.send(b"request", 0), executor.send(b"event", 0)
    assert lost_there
    assert lost_here
    resumed = harness.resumed(5)
    assert decode(resumed[0]).body == Resume(1)
    messages, answers = deliver(resumed, executor, 5)
    assert messages == [b"request"]
    assert deliver(answers, harness, 5)[0] == [b"event"]


def test_a_gap_that_stays_open_ends_the_stream() -> None:
    harness, executor = streams()
    _, second = harness.send(b"1", 0), harness.send(b"2", 0)
    deliver(second, executor, 3)
    assert executor.next_due == 3 + GIVE_UP
    with pytest.raises(RelayError, match="frame 0 has been missing"):
        executor.due(3 + GIVE_UP)


def test_a_peer_that_stops_acknowledging_ends_the_stream() -> None:
    harness, _ = streams()
    harness.send(b"1", 0)
    with pytest.raises(RelayError, match="acknowledged nothing"):
        harness.due(GIVE_UP)


def test_a_reset_ends_the_stream() -> None:
    harness, _ = streams()
    assert decode(reset_frame("s")) == Frame("s", Reset(PROTOCOL_ERROR))
    with pytest.raises(StreamReset, match=PROTOCOL_ERROR):
        harness.frame_received(decode(reset_frame("s")), 0)


def test_heartbeats_and_second_handshakes_change_nothing() -> None:
    harness, executor = streams()
    for body in (Heartbeat(), Handshake(b"again"), Ack()):
        assert deliver([], harness) == ([], [])
        assert executor.frame_received(Frame("s", body), 0).messages == []
    assert deliver(harness.send(b"1", 0), executor)[0] == [b"1"]


def test_the_sequence_never_wraps() -> None:
    harness, _ = streams()
    harness._next_seq = MAX_U32 - 1
    assert isinstance(decode(harness.send(b"the last", 0)[0]).body, Data)
    with pytest.raises(RelayError, match="used up"):
        harness.send(b"one more", 0)


def test_the_reason_of_a_reset_is_shown_as_one_printable_line() -> None:
    harness, _ = streams()
    with pytest.raises(StreamReset) as raised:
        harness.frame_received(Frame("s", Reset("\x1b[2J\u202eno\nERROR forged" + "x" * 1000)), 0)
    assert str(raised.value).isprintable()
    assert len(str(raised.value)) < 300
