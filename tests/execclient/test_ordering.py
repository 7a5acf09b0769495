"""The order of one process's events: by table, and for any arrival order, duplicates and cuts."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.execclient.errors import EventGap
from codex_mcp.execclient.ordering import EARLY_BYTES, UNKNOWN_EXIT_CODE, Event, EventOrder, event_bytes
from codex_mcp.wire.exec.protocol import Chunk, OutputStream, ProcessClosed, ProcessExited, ProcessOutput, ProcessRead

ID = "p1"


def output(seq: int, text: str = "x") -> ProcessOutput:
    return ProcessOutput(ID, seq, OutputStream.STDOUT, text.encode())


def life(length: int, exit_at: int) -> list[Event]:
    """A whole life: output, the exit somewhere in it, and the end."""
    events: list[Event] = [output(seq, f"line {seq}") for seq in range(1, length + 1)]
    events[exit_at] = ProcessExited(ID, exit_at + 1, 7)
    return [*events, ProcessClosed(ID, length + 1)]


lives = st.integers(1, 30).flatmap(lambda length: st.builds(life, st.just(length), st.integers(0, length - 1)))


@dataclass
class Server:
    """What a server says of a life of which so much has happened, and so many chunks are retained."""

    events: list[Event]
    happened: int
    retained: int

    def read(self, after: int) -> ProcessRead:
        past = self.events[: self.happened]
        chunks = [Chunk(event.seq, event.stream, event.chunk) for event in past if isinstance(event, ProcessOutput)]
        kept = chunks[len(chunks) - self.retained :] if self.retained < len(chunks) else chunks
        exits = [event.exit_code for event in past if isinstance(event, ProcessExited)]
        return ProcessRead(
            [chunk for chunk in kept if chunk.seq > after],
            self.happened + 1,
            bool(exits),
            exits[0] if exits else None,
            any(isinstance(event, ProcessClosed) for event in past),
        )


@dataclass
class Reader:
    """Collects what is published."""

    order: EventOrder = field(default_factory=lambda: EventOrder(ID))
    published: list[Event] = field(default_factory=list)

    def hear(self, *events: Event) -> None:
        for event in events:
            self.published += self.order.accept(event)

    def catch_up(self, read: ProcessRead) -> None:
        self.published += self.order.catch_up(read)


def test_an_early_event_waits_for_those_before_it() -> None:
    order = EventOrder(ID)
    assert order.accept(output(3)) == []
    assert order.accept(output(2)) == []
    assert order.accept(output(1)) == [output(1), output(2), output(3)]
    assert order.published == 3
    assert "3 published, 0 early" in repr(order)


def test_the_first_of_two_events_with_one_number_counts() -> None:
    order = EventOrder(ID)
    assert order.accept(output(2, "first")) == []
    assert order.accept(output(2, "second")) == []
    assert order.accept(output(1)) == [output(1), output(2, "first")]
    assert order.accept(output(2, "third")) == []


def test_the_end_is_known_once_it_is_published() -> None:
    order = EventOrder(ID)
    order.accept(ProcessClosed(ID, 2))
    assert not order.is_closed
    order.accept(ProcessExited(ID, 1, 0))
    assert order.is_closed


def test_too_much_that_waits_for_a_missing_event_is_a_gap() -> None:
    order = EventOrder(ID)
    large = bytes(1 << 20)
    seq = 2
    with pytest.raises(EventGap) as raised:  # noqa: PT012  how many it takes is the limit's affair
        for seq in range(2, 100):
            order.accept(ProcessOutput(ID, seq, OutputStream.STDOUT, large))
    assert raised.value.missing == 1
    assert seq - 1 == EARLY_BYTES // (len(large) + event_bytes(output(1, ""))) + 1


def test_the_missing_event_may_come_at_the_last_moment() -> None:
    order = EventOrder(ID)
    chunk = bytes(EARLY_BYTES - 2 * event_bytes(output(1, "")))
    order.accept(ProcessOutput(ID, 2, OutputStream.STDOUT, chunk))
    assert [event.seq for event in order.accept(output(1, "x" * 1024))] == [1, 2]


def test_output_that_is_no_longer_retained_is_a_gap() -> None:
    events = life(10, exit_at=9)
    reader = Reader()
    reader.hear(events[0])
    with pytest.raises(EventGap) as raised:
        reader.catch_up(Server(events, happened=8, retained=3).read(after=1))
    assert (raised.value.missing, raised.value.through) == (2, 8)


def test_a_server_cannot_make_us_count_for_ever() -> None:
    with pytest.raises(EventGap):
        EventOrder(ID).catch_up(ProcessRead([], 2**62, exited=False, exit_code=None, closed=False))


def test_an_exit_without_a_place_in_the_sequence_is_a_gap() -> None:
    order = EventOrder(ID)
    order.accept(output(1))
    with pytest.raises(EventGap):
        order.catch_up(ProcessRead([], 2, exited=True, exit_code=0, closed=False))


def test_an_exit_whose_code_nobody_knows_has_the_servers_own_code_for_that() -> None:
    events = EventOrder(ID).catch_up(ProcessRead([], 3, exited=True, exit_code=None, closed=True))
    assert events == [ProcessExited(ID, 1, UNKNOWN_EXIT_CODE), ProcessClosed(ID, 2)]


@given(st.data())
def test_any_arrival_order_is_published_in_order_exactly_once(data: st.DataObject) -> None:
    events = data.draw(lives)
    arrival = data.draw(st.permutations(events))
    again = data.draw(st.lists(st.sampled_from(events)))
    reader = Reader()
    reader.hear(*arrival, *again)
    assert reader.published == events


@given(st.data())
def test_cuts_at_any_place_lose_nothing_that_is_retained(data: st.DataObject) -> None:
    """Between two cuts some of the live events come, in any order; after each, the reader catches up."""
    events = data.draw(lives)
    reader = Reader()
    happened = 0
    for _ in range(data.draw(st.integers(1, 5))):
        happened = data.draw(st.integers(happened, len(events)))
        heard = data.draw(st.lists(st.sampled_from(events[:happened])) if happened else st.just([]))
        reader.hear(*heard)
        answer = Server(events, happened, retained=len(events)).read(after=reader.order.published)
        # What happens after the server looked may overtake its answer.
        later = data.draw(st.integers(happened, len(events)))
        reader.hear(*data.draw(st.permutations(events[happened:later])))
        reader.catch_up(answer)
        happened = later
        assert reader.published == events[: len(reader.published)]
        assert len(reader.published) >= answer.next_seq - 1
    reader.catch_up(Server(events, len(events), len(events)).read(reader.order.published))
    assert reader.published == events
    assert reader.order.is_closed


@given(lives, st.data())
def test_with_little_retained_the_order_is_right_or_there_is_a_gap(events: list[Event], data: st.DataObject) -> None:
    seen = data.draw(st.integers(0, len(events)))
    happened = data.draw(st.integers(seen, len(events)))
    retained = data.draw(st.integers(0, len(events)))
    reader = Reader()
    reader.hear(*events[:seen])
    server = Server(events, happened, retained)
    outputs = [event for event in events[seen:happened] if isinstance(event, ProcessOutput)]
    if len(outputs) <= retained:
        reader.catch_up(server.read(seen))
        assert reader.published == events[:happened]
    else:
        with pytest.raises(EventGap) as raised:
            reader.catch_up(server.read(seen))
        assert raised.value.missing == seen + 1 or isinstance(events[seen], ProcessExited)
        assert reader.published == events[:seen]
