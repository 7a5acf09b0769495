"""The queue of a thread's turns: the table cell by cell, and any order of everything that can happen."""

from collections.abc import Callable

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from codex_mcp.threads.turns import (
    PAST_IDS,
    Action,
    Conclude,
    Interrupt,
    Place,
    QueueFull,
    QueueShut,
    Source,
    Start,
    State,
    TurnQueue,
)

MAX_WAITING = 3


class Case:
    """A turn in one state, with another one before it if it waits."""

    def __init__(self, state: State) -> None:
        self.queue = TurnQueue(MAX_WAITING)
        self.before = Place()
        self.place = Place()
        if state is State.WAITING:
            self.queue.offer(self.before)
            self.queue.started("before")
        self.queue.offer(self.place)
        if state in (State.RUNNING, State.ENDED):
            self.queue.started("u")
        if state is State.STOPPING:
            self.queue.cancel(self.place)
        if state is State.ENDED:
            self.queue.ended("u")
        assert self.place.state is state


def accepted(case: Case) -> list[Action]:
    case.queue.accepted("u", case.place)
    return []


NEWS: dict[str, Callable[[Case], list[Action]]] = {
    "cancel": lambda case: case.queue.cancel(case.place),
    "accepted": accepted,
    "started": lambda case: case.queue.started("u"),
    "ended": lambda case: case.queue.ended("u"),
    "start failed": lambda case: case.queue.start_failed(case.place),
    "given up": lambda case: case.queue.given_up(case.place),
    "lost": lambda case: case.queue.lost(),
}

# What becomes of the turn, and what is to be done about it, by name.
Cell = tuple[State, list[type[Action]]]
TABLE: dict[State, dict[str, Cell]] = {
    State.WAITING: {
        "cancel": (State.ENDED, [Conclude]),
        "accepted": (State.WAITING, []),
        "started": (State.WAITING, []),
        "ended": (State.WAITING, []),
        "start failed": (State.WAITING, []),
        "given up": (State.WAITING, []),
        "lost": (State.ENDED, [Conclude]),
    },
    State.STARTING: {
        "cancel": (State.STOPPING, []),
        "accepted": (State.STARTING, []),
        "started": (State.RUNNING, []),
        "ended": (State.ENDED, [Conclude]),
        "start failed": (State.ENDED, [Conclude]),
        "given up": (State.ENDED, [Conclude]),
        "lost": (State.ENDED, [Conclude]),
    },
    State.RUNNING: {
        "cancel": (State.STOPPING, [Interrupt]),
        "accepted": (State.RUNNING, []),
        "started": (State.RUNNING, []),
        "ended": (State.ENDED, [Conclude]),
        "start failed": (State.ENDED, [Conclude]),
        "given up": (State.ENDED, [Conclude]),
        "lost": (State.ENDED, [Conclude]),
    },
    State.STOPPING: {
        "cancel": (State.STOPPING, []),
        "accepted": (State.STOPPING, []),
        "started": (State.STOPPING, [Interrupt]),
        "ended": (State.ENDED, [Conclude]),
        "start failed": (State.ENDED, [Conclude]),
        "given up": (State.ENDED, [Conclude]),
        "lost": (State.ENDED, [Conclude]),
    },
    State.ENDED: dict.fromkeys(NEWS, (State.ENDED, [])),
}


@pytest.mark.parametrize(("state", "news"), [(state, news) for state in State for news in NEWS])
def test_every_cell_of_the_table(state: State, news: str) -> None:
    case = Case(state)
    actions = NEWS[news](case)
    expected_state, expected = TABLE[state][news]
    assert case.place.state is expected_state
    assert [type(action) for action in actions if action.place is case.place] == expected


def test_the_next_turn_begins_when_the_one_before_it_is_over() -> None:
    queue, first, second, third = TurnQueue(MAX_WAITING), Place(), Place(), Place()
    assert queue.offer(first) == [Start(first)]
    assert [queue.offer(second), queue.offer(third)] == [[], []]
    assert (queue.current, queue.waiting, queue.idle) == (first, 2, False)
    queue.started("1")
    assert queue.ended("1") == [Conclude(first), Start(second)]
    assert queue.start_failed(second) == [Conclude(second), Start(third)]
    assert queue.given_up(third) == [Conclude(third)]
    assert (queue.current, queue.waiting, queue.idle) == (None, 0, True)


def test_no_more_turns_wait_than_may() -> None:
    queue = TurnQueue(1)
    queue.offer(Place())
    queue.offer(Place())
    with pytest.raises(QueueFull):
        queue.offer(Place())
    assert queue.waiting == 1


def test_the_answer_to_a_start_names_the_id_and_the_announcement_begins_the_turn() -> None:
    queue, place = TurnQueue(MAX_WAITING), Place()
    queue.offer(place)
    assert queue.accepted("u", place)
    assert repr(place) == "<Place starting u>"
    assert queue.started("another") == []
    queue.started("u")
    assert repr(place) == "<Place running u>"


def test_a_turn_cancelled_before_its_announcement_is_interrupted_after_it_once() -> None:
    queue, place = TurnQueue(MAX_WAITING), Place()
    queue.offer(place)
    queue.accepted("u", place)
    assert [queue.cancel(place), queue.started("u"), queue.started("u"), queue.cancel(place)] == [
        [],
        [Interrupt(place)],
        [],
        [],
    ]


def test_the_answer_to_the_start_of_a_turn_that_is_gone_touches_nothing() -> None:
    queue, gone, current = TurnQueue(MAX_WAITING), Place(), Place()
    queue.offer(gone)
    queue.given_up(gone)
    queue.offer(current)
    assert queue.accepted("late", gone)
    assert repr(current) == "<Place starting >"


def test_a_prompt_that_went_into_a_turn_of_the_past_was_not_accepted() -> None:
    queue, past, current = TurnQueue(MAX_WAITING), Place(), Place()
    queue.offer(past)
    queue.started("u")
    queue.given_up(past)
    queue.offer(current)
    assert not queue.accepted("u", current)


def test_an_answer_that_comes_after_the_end_of_its_turn_is_in_order() -> None:
    queue, place = TurnQueue(MAX_WAITING), Place()
    queue.offer(place)
    queue.started("u")
    queue.ended("u")
    assert queue.accepted("u", place)


def test_late_news_of_a_turn_that_has_ended_touches_nothing_not_even_a_turn_without_an_id() -> None:
    queue, first, second = TurnQueue(MAX_WAITING), Place(), Place()
    queue.offer(first)
    queue.started("1")
    queue.offer(second)
    queue.cancel(first)
    queue.given_up(first)
    assert [queue.started("1"), queue.ended("1"), queue.is_current("1")] == [[], [], False]
    assert repr(second) == "<Place starting >"
    queue.started("2")
    assert [queue.started("1"), queue.ended("1"), queue.is_current("1"), queue.is_current("2")] == [[], [], False, True]
    assert repr(second) == "<Place running 2>"


def test_news_without_an_id_belong_to_no_turn_that_has_one() -> None:
    queue, place = TurnQueue(MAX_WAITING), Place()
    assert not queue.is_current("")
    queue.offer(place)
    queue.started("1")
    assert not queue.is_current("")


def test_turns_that_never_had_an_id_do_not_make_news_without_one_late() -> None:
    queue, first, second = TurnQueue(MAX_WAITING), Place(), Place()
    queue.offer(first)
    queue.start_failed(first)
    queue.offer(second)
    assert queue.is_current("a new one")
    assert queue.ended("a new one") == [Conclude(second)]


def test_only_so_many_ids_are_remembered() -> None:
    queue = TurnQueue(MAX_WAITING)
    for number in range(PAST_IDS + 1):
        queue.offer(Place())
        queue.ended(str(number))
    queue.offer(Place())
    assert queue.is_current("0")
    assert not queue.is_current("1")


def test_it_shows_what_runs_and_what_waits() -> None:
    queue = TurnQueue(MAX_WAITING)
    queue.offer(Place())
    queue.offer(Place())
    queue.started("u")
    assert repr(queue) == "<TurnQueue <Place running u>, 1 waiting>"


def test_what_callers_want_goes_before_mail() -> None:
    queue, first, mail, caller = TurnQueue(MAX_WAITING), Place(), Place(Source.MAIL), Place()
    for place in (first, mail, caller):
        queue.offer(place)
    queue.started("1")
    assert queue.ended("1") == [Conclude(first), Start(caller)]
    queue.started("2")
    assert queue.ended("2") == [Conclude(caller), Start(mail)]


def test_a_shut_queue_gives_up_what_waits_stops_what_runs_and_takes_only_a_last_turn() -> None:
    queue, running, waiting, last = TurnQueue(MAX_WAITING), Place(), Place(), Place()
    queue.offer(running)
    queue.started("1")
    queue.offer(waiting)
    assert queue.shut() == [Conclude(waiting), Interrupt(running)]
    assert queue.is_shut
    with pytest.raises(QueueShut):
        queue.offer(Place())
    assert queue.shut() == []
    assert queue.offer(last, last=True) == []
    assert queue.ended("1") == [Conclude(running), Start(last)]
    queue.started("2")
    queue.ended("2")
    queue.open()
    assert queue.offer(Place()) != []


class Life(RuleBasedStateMachine):
    """Callers, the core and the clock do what they like, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = TurnQueue(MAX_WAITING)
        self.offered: list[Place] = []
        self.begun: list[Place] = []
        self.concluded: list[Place] = []
        self.interrupted: list[Place] = []
        self.ids = 0

    def perform(self, actions: list[Action]) -> None:
        for action in actions:
            match action:
                case Start(place):
                    self.begun.append(place)
                case Interrupt(place):
                    assert place.turn_id
                    assert place not in self.concluded
                    self.interrupted.append(place)
                case Conclude(place):
                    self.concluded.append(place)

    def any_place(self, data: st.DataObject) -> Place:
        return data.draw(st.sampled_from(self.offered))

    @rule(source=st.sampled_from(Source))
    def offer(self, source: Source) -> None:
        place = Place(source)
        try:
            actions = self.queue.offer(place)
        except QueueFull:
            assert self.queue.waiting == MAX_WAITING
            return
        except QueueShut:
            assert self.queue.is_shut
            return
        self.offered.append(place)
        self.perform(actions)

    def current_id(self) -> str:
        assert self.queue.current is not None
        self.ids += 1
        return self.queue.current.turn_id or f"turn {self.ids}"

    @precondition(lambda self: self.queue.current is not None)
    @rule()
    def accept(self) -> None:
        assert self.queue.current is not None
        assert self.queue.accepted(self.current_id(), self.queue.current)

    @precondition(lambda self: self.queue.current is not None)
    @rule()
    def start(self) -> None:
        self.perform(self.queue.started(self.current_id()))

    @precondition(lambda self: self.queue.current is not None)
    @rule()
    def end(self) -> None:
        current = self.queue.current
        assert current is not None
        self.perform(self.queue.ended(self.current_id()))
        assert current in self.concluded

    @precondition(lambda self: self.offered)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        self.perform(self.queue.cancel(self.any_place(data)))

    @precondition(lambda self: self.offered)
    @rule(data=st.data())
    def fail_or_give_up(self, data: st.DataObject) -> None:
        place = self.any_place(data)
        self.perform(data.draw(st.sampled_from([self.queue.start_failed, self.queue.given_up]))(place))

    @precondition(lambda self: any(place.turn_id for place in self.concluded))
    @rule(data=st.data())
    def hear_late_news(self, data: st.DataObject) -> None:
        late = data.draw(st.sampled_from([place for place in self.concluded if place.turn_id]))
        before = repr(self.queue), [place.state for place in self.offered]
        assert [self.queue.started(late.turn_id), self.queue.ended(late.turn_id)] == [[], []]
        assert self.queue.accepted(late.turn_id, late)
        assert (repr(self.queue), [place.state for place in self.offered]) == before

    @rule()
    def shut(self) -> None:
        self.perform(self.queue.shut())
        assert self.queue.waiting == 0

    @rule()
    def open(self) -> None:
        self.queue.open()

    @rule()
    def lose(self) -> None:
        self.perform(self.queue.lost())
        assert self.queue.idle

    @invariant()
    def one_turn_at_a_time_in_the_order_of_their_coming(self) -> None:
        living = [place for place in self.begun if place.state is not State.ENDED]
        assert living == ([] if self.queue.current is None else [self.queue.current])
        for source in Source:
            begun = [place for place in self.begun if place.source is source]
            assert begun == [place for place in self.offered if place in begun]

    @invariant()
    def no_mail_begins_while_a_caller_waits(self) -> None:
        current = self.queue.current
        if current is not None and current.source is Source.MAIL:
            since = self.offered.index(current)
            waiting = [place for place in self.offered[:since] if place.state is State.WAITING]
            assert all(place.source is Source.MAIL for place in waiting)

    @invariant()
    def each_is_concluded_once_and_interrupted_at_most_once(self) -> None:
        assert len(self.concluded) == len(set(self.concluded))
        assert set(self.concluded) == {place for place in self.offered if place.state is State.ENDED}
        assert len(self.interrupted) == len(set(self.interrupted))
        assert all(place.interrupt_sent for place in self.interrupted)

    @invariant()
    def nobody_is_forgotten(self) -> None:
        waiting = [place for place in self.offered if place.state is State.WAITING]
        assert len(waiting) == self.queue.waiting <= MAX_WAITING
        assert not (waiting and self.queue.idle)


test_any_life_of_a_queue = Life.TestCase
test_any_life_of_a_queue.settings = settings(deadline=None, max_examples=60, stateful_step_count=40)
