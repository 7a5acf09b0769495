"""A reader gets everything in order, or is told how many it has missed; what is vital it never misses."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from codex_mcp.base.settings.kinds import SlowReader
from codex_mcp.transports.streams import message_ring
from codex_mcp.transports.streams.message_ring import Batch, MessageRing, Numbered

MANY = 10**9


def texts(batch: Batch) -> list[bytes]:
    return [message.frame for message in batch.messages]


def test_a_stream_begins_empty() -> None:
    stream = MessageRing(4, MANY)
    assert (stream.last, stream.last_read, stream.unread) == (0, 0, 0)
    assert stream.after(0) == Batch([], 0, 0)


def test_a_reader_gets_what_came_after_its_last() -> None:
    stream = MessageRing(4, MANY)
    assert [stream.put(frame) for frame in (b"a", b"b", b"c")] == [1, 2, 3]
    assert stream.after(1) == Batch([Numbered(2, b"b", vital=False), Numbered(3, b"c", vital=False)], 0, 3)
    assert texts(stream.after(3)) == []


def test_the_oldest_go_and_are_counted() -> None:
    stream = MessageRing(2, MANY)
    for frame in (b"a", b"b", b"c", b"d"):
        stream.put(frame)
    assert texts(stream.after(0)) == [b"c", b"d"]
    assert stream.after(0).dropped == 2
    assert stream.after(1).dropped == 1
    assert stream.after(2).dropped == 0


def test_bytes_count_as_well_but_the_newest_stays() -> None:
    stream = MessageRing(100, 10)
    stream.put(b"x" * 6)
    stream.put(b"y" * 6)
    assert texts(stream.after(0)) == [b"y" * 6]
    stream.put(b"z" * 60)
    assert texts(stream.after(0)) == [b"z" * 60]


def test_what_is_vital_stays_until_somebody_has_it() -> None:
    stream = MessageRing(2, MANY)
    stream.put(b"answer", vital=True)
    for frame in (b"a", b"b", b"c"):
        stream.put(frame)
    assert texts(stream.after(0)) == [b"answer", b"c"]
    stream.read(1)
    stream.put(b"d")
    assert texts(stream.after(0)) == [b"c", b"d"]


def test_if_everything_is_vital_the_stream_grows_and_what_is_not_goes_at_once() -> None:
    stream = MessageRing(2, MANY)
    for frame in (b"1", b"2", b"3"):
        stream.put(frame, vital=True)
    stream.put(b"event")
    batch = stream.after(0)
    assert texts(batch) == [b"1", b"2", b"3"]
    assert (batch.dropped, batch.last) == (1, 4)
    assert stream.after(batch.last) == Batch([], 0, 4)


def test_a_number_from_elsewhere_is_no_reason_to_forget_anything() -> None:
    stream = MessageRing(2, MANY)
    stream.put(b"a", vital=True)
    stream.read(500)
    assert (stream.last_read, stream.unread) == (1, 0)
    stream.put(b"b", vital=True)
    assert stream.unread == 1
    assert stream.after(500) == Batch([], 0, 500)


def test_even_what_is_vital_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_ring, "MOST_VITAL", 64)  # each message looks at all before it
    stream = MessageRing(2, MANY)
    for _ in range(66):
        stream.put(b"answer", vital=True)
    assert stream.overrun
    assert stream.last == 65
    heavy = MessageRing(2, 10, most_bytes=20)
    for _ in range(3):
        heavy.put(b"x" * 10, vital=True)
    assert heavy.overrun


def test_a_reader_that_is_to_be_disconnected_is_so_when_it_lags_too_far_behind() -> None:
    stream = MessageRing(2, MANY, SlowReader.DISCONNECT)
    for number in range(1, 6):
        stream.put(b"read along")
        stream.read(number)
    overrun = []
    for text in (b"unread", b"unread", b"one too many"):
        stream.put(text)
        overrun.append(stream.overrun)
    assert overrun == [False, False, True]
    assert stream.put(b"nobody gets this") == 8
    assert texts(stream.after(5)) == [b"unread", b"unread", b"one too many"]


def test_a_reader_that_is_waited_for_has_bytes_and_not_messages_to_lag_behind() -> None:
    stream = MessageRing(2, 3, SlowReader.WAIT, most_bytes=10)
    overrun = []
    for _ in range(11):
        stream.put(b"x")
        overrun.append(stream.overrun)
    assert overrun == [False] * 10 + [True]
    assert (len(stream.after(0).messages), stream.after(0).dropped) == (11, 0)


@given(st.lists(st.one_of(st.binary(max_size=8), st.none())), st.sampled_from([SlowReader.DISCONNECT, SlowReader.WAIT]))
def test_where_nothing_is_dropped_a_reader_gets_everything_until_it_is_overrun(
    acts: list[bytes | None], policy: SlowReader
) -> None:
    stream = MessageRing(3, 12, policy, most_bytes=20)
    written: list[bytes] = []
    seen: list[bytes] = []
    number = 0
    for act in [*acts, None]:
        if act is not None:
            written += [] if stream.overrun else [act]
            stream.put(act)
            continue
        stream.read(number)
        batch = stream.after(number)
        assert batch.dropped == 0
        seen += texts(batch)
        number = batch.last
    assert seen == written


@given(st.lists(st.tuples(st.binary(max_size=8), st.booleans())), st.integers(1, 5), st.integers(1, 30))
def test_nothing_is_lost_without_being_counted(puts: list[tuple[bytes, bool]], messages: int, size: int) -> None:
    stream = MessageRing(messages, size)
    for frame, vital in puts:
        stream.put(frame, vital=vital)
    for number in range(len(puts) + 1):
        batch = stream.after(number)
        assert len(batch.messages) + batch.dropped == len(puts) - number
        assert all(puts[message.number - 1] == (message.frame, message.vital) for message in batch.messages)
        assert [message.number for message in batch.messages] == sorted({message.number for message in batch.messages})


class AStreamAndItsReader(RuleBasedStateMachine):
    """A writer, and a reader that lags and is cut off."""

    def __init__(self) -> None:
        super().__init__()
        self.stream = MessageRing(3, 40)
        self.put: list[tuple[bytes, bool]] = []
        self.reader = 0
        self.seen: set[int] = set()
        self.told = 0

    @rule(frame=st.binary(min_size=1, max_size=30), vital=st.booleans())
    def write(self, frame: bytes, *, vital: bool) -> None:
        self.put.append((frame, vital))
        assert self.stream.put(frame, vital=vital) == len(self.put)

    @rule()
    def read(self) -> None:
        self.stream.read(self.reader)
        batch = self.stream.after(self.reader)
        self.seen |= {message.number for message in batch.messages}
        self.told += batch.dropped
        self.reader = batch.last

    @invariant()
    def the_reader_has_everything_or_knows_how_much_it_misses(self) -> None:
        assert len(self.seen) + self.told == self.reader

    @invariant()
    def everything_vital_is_there_or_was_seen(self) -> None:
        vital = {number for number, (_, vital) in enumerate(self.put, 1) if vital}
        kept = {message.number for message in self.stream.after(self.reader).messages}
        assert vital <= kept | self.seen

    @invariant()
    def what_is_not_vital_is_bounded(self) -> None:
        loose = [message for message in self.stream.after(0).messages if not message.vital]
        assert len(loose) <= self.stream.max_messages


TestAStreamAndItsReader = AStreamAndItsReader.TestCase
TestAStreamAndItsReader.settings = settings(max_examples=50, stateful_step_count=30)
