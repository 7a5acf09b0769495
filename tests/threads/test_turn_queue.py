"""The queue of a thread's turns: the table cell by cell."""

from collections.abc import Callable

import pytest

from codex_mcp.codex.core import When
from codex_mcp.threads.turn_queue import (
    JOINED,
    PAST_IDS,
    Action,
    Conclude,
    Interrupt,
    Leave,
    QueueFull,
    QueuePlace,
    QueueShut,
    Remind,
    Return,
    Share,
    Source,
    Start,
    TurnQueue,
    TurnQueueState,
)

MAX_WAITING = 3


class Case:
    """A turn in one state, with another one before it if it waits for that or steers it."""

    def __init__(self, state: TurnQueueState) -> None:
        self.queue = TurnQueue(MAX_WAITING)
        self.before = QueuePlace()
        self.place = QueuePlace()
        if state is TurnQueueState.WAITING or state in JOINED:
            self.queue.offer(self.before)
            self.queue.started("before")
        self.queue.offer(self.place, When.STEER if state in JOINED else When.QUEUE)
        if state in (TurnQueueState.RECORDED, TurnQueueState.SHARING):
            self.queue.recorded(self.place)
        if state is TurnQueueState.SHARING:
            self.queue.model_went_on("before")
        if state in (TurnQueueState.RUNNING, TurnQueueState.ENDED):
            self.queue.started("u")
        if state in (TurnQueueState.STOPPING, TurnQueueState.ABANDONED):
            self.queue.cancel(self.place)
        if state is TurnQueueState.ABANDONED:
            self.queue.overdue(self.place)
        if state is TurnQueueState.ENDED:
            self.queue.ended("u")
        assert self.place.state is state


def accepted(case: Case) -> list[Action]:
    case.queue.accepted("u", case.place)
    return []


def recorded(case: Case) -> list[Action]:
    case.queue.recorded(case.place)
    return []


def model_went_on(case: Case) -> list[Action]:
    case.queue.model_went_on("before")
    return []


NEWS: dict[str, Callable[[Case], list[Action]]] = {
    "cancel": lambda case: case.queue.cancel(case.place),
    "overdue": lambda case: case.queue.overdue(case.place),
    "accepted": accepted,
    "started": lambda case: case.queue.started("u"),
    "ended": lambda case: case.queue.ended("u"),
    "start failed": lambda case: case.queue.start_failed(case.place),
    "given up": lambda case: case.queue.given_up(case.place),
    "lost": lambda case: case.queue.lost(),
    "refused": lambda case: case.queue.refused(case.place),
    "recorded": recorded,
    "model went on": model_went_on,
    "host completed": lambda case: case.queue.ended("before"),
    "host interrupted": lambda case: case.queue.ended("before", completed=False),
    "host given up": lambda case: case.queue.given_up(case.before),
    "shut": lambda case: case.queue.shut(),
}

# What becomes of the turn, and what is to be done about it, by name.
Cell = tuple[TurnQueueState, list[type[Action]]]
TABLE: dict[TurnQueueState, dict[str, Cell]] = {
    TurnQueueState.WAITING: {
        "cancel": (TurnQueueState.ENDED, [Conclude]),
        "overdue": (TurnQueueState.WAITING, []),
        "accepted": (TurnQueueState.WAITING, []),
        "started": (TurnQueueState.WAITING, []),
        "ended": (TurnQueueState.WAITING, []),
        "start failed": (TurnQueueState.WAITING, []),
        "given up": (TurnQueueState.WAITING, []),
        "lost": (TurnQueueState.ENDED, [Conclude]),
        "refused": (TurnQueueState.WAITING, []),
        "recorded": (TurnQueueState.WAITING, []),
        "model went on": (TurnQueueState.WAITING, []),
        "host completed": (TurnQueueState.STARTING, [Start]),
        "host interrupted": (TurnQueueState.STARTING, [Start]),
        "host given up": (TurnQueueState.STARTING, [Start]),
        "shut": (TurnQueueState.ENDED, [Conclude]),
    },
    TurnQueueState.STARTING: {
        "cancel": (TurnQueueState.STOPPING, [Remind]),
        "overdue": (TurnQueueState.STARTING, []),
        "accepted": (TurnQueueState.STARTING, []),
        "started": (TurnQueueState.RUNNING, []),
        "ended": (TurnQueueState.ENDED, [Conclude]),
        "start failed": (TurnQueueState.ENDED, [Conclude]),
        "given up": (TurnQueueState.ENDED, [Conclude]),
        "lost": (TurnQueueState.ENDED, [Conclude]),
        "refused": (TurnQueueState.STARTING, []),
        "recorded": (TurnQueueState.STARTING, []),
        "model went on": (TurnQueueState.STARTING, []),
        "host completed": (TurnQueueState.ENDED, [Conclude]),
        "host interrupted": (TurnQueueState.ENDED, [Conclude]),
        "host given up": (TurnQueueState.STARTING, []),
        "shut": (TurnQueueState.STOPPING, [Remind]),
    },
    TurnQueueState.RUNNING: {
        "cancel": (TurnQueueState.STOPPING, [Interrupt]),
        "overdue": (TurnQueueState.RUNNING, []),
        "accepted": (TurnQueueState.RUNNING, []),
        "started": (TurnQueueState.RUNNING, []),
        "ended": (TurnQueueState.ENDED, [Conclude]),
        "start failed": (TurnQueueState.ENDED, [Conclude]),
        "given up": (TurnQueueState.ENDED, [Conclude]),
        "lost": (TurnQueueState.ENDED, [Conclude]),
        "refused": (TurnQueueState.RUNNING, []),
        "recorded": (TurnQueueState.RUNNING, []),
        "model went on": (TurnQueueState.RUNNING, []),
        "host completed": (TurnQueueState.RUNNING, []),
        "host interrupted": (TurnQueueState.RUNNING, []),
        "host given up": (TurnQueueState.RUNNING, []),
        "shut": (TurnQueueState.STOPPING, [Interrupt]),
    },
    TurnQueueState.STOPPING: {
        "cancel": (TurnQueueState.STOPPING, []),
        "overdue": (TurnQueueState.ABANDONED, [Conclude]),
        "accepted": (TurnQueueState.STOPPING, []),
        "started": (TurnQueueState.STOPPING, [Interrupt]),
        "ended": (TurnQueueState.ENDED, [Conclude]),
        "start failed": (TurnQueueState.ENDED, [Conclude]),
        "given up": (TurnQueueState.ENDED, [Conclude]),
        "lost": (TurnQueueState.ENDED, [Conclude]),
        "refused": (TurnQueueState.STOPPING, []),
        "recorded": (TurnQueueState.STOPPING, []),
        "model went on": (TurnQueueState.STOPPING, []),
        "host completed": (TurnQueueState.ENDED, [Conclude]),
        "host interrupted": (TurnQueueState.ENDED, [Conclude]),
        "host given up": (TurnQueueState.STOPPING, []),
        "shut": (TurnQueueState.STOPPING, []),
    },
    TurnQueueState.ABANDONED: {
        "cancel": (TurnQueueState.ABANDONED, []),
        "overdue": (TurnQueueState.ABANDONED, []),
        "accepted": (TurnQueueState.ABANDONED, []),
        "started": (TurnQueueState.ABANDONED, [Interrupt]),
        "ended": (TurnQueueState.ENDED, [Leave]),
        "start failed": (TurnQueueState.ENDED, [Leave]),
        "given up": (TurnQueueState.ENDED, [Leave]),
        "lost": (TurnQueueState.ENDED, [Leave]),
        "refused": (TurnQueueState.ABANDONED, []),
        "recorded": (TurnQueueState.ABANDONED, []),
        "model went on": (TurnQueueState.ABANDONED, []),
        "host completed": (TurnQueueState.ENDED, [Leave]),
        "host interrupted": (TurnQueueState.ENDED, [Leave]),
        "host given up": (TurnQueueState.ABANDONED, []),
        "shut": (TurnQueueState.ABANDONED, []),
    },
    TurnQueueState.JOINING: {
        "cancel": (TurnQueueState.ENDED, [Conclude]),
        "overdue": (TurnQueueState.JOINING, []),
        "accepted": (TurnQueueState.JOINING, []),
        "started": (TurnQueueState.JOINING, []),
        "ended": (TurnQueueState.JOINING, []),
        "start failed": (TurnQueueState.JOINING, []),
        "given up": (TurnQueueState.JOINING, []),
        "lost": (TurnQueueState.ENDED, [Conclude]),
        "refused": (TurnQueueState.WAITING, [Return]),
        "recorded": (TurnQueueState.RECORDED, []),
        "model went on": (TurnQueueState.JOINING, []),
        "host completed": (TurnQueueState.STARTING, [Return, Start]),
        "host interrupted": (TurnQueueState.STARTING, [Return, Start]),
        "host given up": (TurnQueueState.STARTING, [Return, Start]),
        "shut": (TurnQueueState.ENDED, [Conclude]),
    },
    TurnQueueState.RECORDED: {
        "cancel": (TurnQueueState.ENDED, [Conclude]),
        "overdue": (TurnQueueState.RECORDED, []),
        "accepted": (TurnQueueState.RECORDED, []),
        "started": (TurnQueueState.RECORDED, []),
        "ended": (TurnQueueState.RECORDED, []),
        "start failed": (TurnQueueState.RECORDED, []),
        "given up": (TurnQueueState.RECORDED, []),
        "lost": (TurnQueueState.ENDED, [Conclude]),
        "refused": (TurnQueueState.RECORDED, []),
        "recorded": (TurnQueueState.RECORDED, []),
        "model went on": (TurnQueueState.SHARING, []),
        "host completed": (TurnQueueState.STARTING, [Return, Start]),
        "host interrupted": (TurnQueueState.ENDED, [Share]),
        "host given up": (TurnQueueState.ENDED, [Share]),
        "shut": (TurnQueueState.RECORDED, []),
    },
    TurnQueueState.SHARING: {
        "cancel": (TurnQueueState.ENDED, [Conclude]),
        "overdue": (TurnQueueState.SHARING, []),
        "accepted": (TurnQueueState.SHARING, []),
        "started": (TurnQueueState.SHARING, []),
        "ended": (TurnQueueState.SHARING, []),
        "start failed": (TurnQueueState.SHARING, []),
        "given up": (TurnQueueState.SHARING, []),
        "lost": (TurnQueueState.ENDED, [Conclude]),
        "refused": (TurnQueueState.SHARING, []),
        "recorded": (TurnQueueState.SHARING, []),
        "model went on": (TurnQueueState.SHARING, []),
        "host completed": (TurnQueueState.ENDED, [Share]),
        "host interrupted": (TurnQueueState.ENDED, [Share]),
        "host given up": (TurnQueueState.ENDED, [Share]),
        "shut": (TurnQueueState.SHARING, []),
    },
    TurnQueueState.ENDED: dict.fromkeys(NEWS, (TurnQueueState.ENDED, [])),
}


@pytest.mark.parametrize(("state", "news"), [(state, news) for state in TurnQueueState for news in NEWS])
def test_every_cell_of_the_table(state: TurnQueueState, news: str) -> None:
    case = Case(state)
    actions = NEWS[news](case)
    expected_state, expected = TABLE[state][news]
    assert case.place.state is expected_state
    assert [type(action) for action in actions if action.place is case.place] == expected


def test_the_next_turn_begins_when_the_one_before_it_is_over() -> None:
    queue, first, second, third = TurnQueue(MAX_WAITING), QueuePlace(), QueuePlace(), QueuePlace()
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
    queue.offer(QueuePlace())
    queue.offer(QueuePlace())
    with pytest.raises(QueueFull):
        queue.offer(QueuePlace())
    assert queue.waiting == 1


def test_the_answer_to_a_start_names_the_id_and_the_announcement_begins_the_turn() -> None:
    queue, place = TurnQueue(MAX_WAITING), QueuePlace()
    queue.offer(place)
    assert queue.accepted("u", place)
    assert repr(place) == "<QueuePlace starting u>"
    assert queue.started("another") == []
    queue.started("u")
    assert repr(place) == "<QueuePlace running u>"


def test_a_turn_cancelled_before_its_announcement_is_interrupted_after_it_once() -> None:
    queue, place = TurnQueue(MAX_WAITING), QueuePlace()
    queue.offer(place)
    queue.accepted("u", place)
    assert [queue.cancel(place), queue.started("u"), queue.started("u"), queue.cancel(place)] == [
        [Remind(place)],
        [Interrupt(place)],
        [],
        [],
    ]


def test_a_turn_that_nobody_waits_for_any_longer_keeps_its_place_until_the_core_is_done_with_it() -> None:
    queue, first, second = TurnQueue(MAX_WAITING), QueuePlace(), QueuePlace()
    queue.offer(first)
    queue.cancel(first)
    assert queue.overdue(first) == [Conclude(first)]
    assert [queue.offer(second), queue.cancel(first), queue.overdue(first)] == [[], [], []]
    assert (queue.current, queue.waiting, queue.idle) == (first, 1, False)
    assert queue.started("1") == [Interrupt(first)]
    assert queue.ended("1") == [Leave(first), Start(second)]
    assert [queue.started("1"), queue.ended("1"), second.turn_id] == [[], [], ""]


def test_the_answer_to_the_start_of_a_turn_that_is_gone_touches_nothing() -> None:
    queue, gone, current = TurnQueue(MAX_WAITING), QueuePlace(), QueuePlace()
    queue.offer(gone)
    queue.given_up(gone)
    queue.offer(current)
    assert queue.accepted("late", gone)
    assert repr(current) == "<QueuePlace starting >"


def test_a_prompt_that_went_into_a_turn_of_the_past_was_not_accepted() -> None:
    queue, past, current = TurnQueue(MAX_WAITING), QueuePlace(), QueuePlace()
    queue.offer(past)
    queue.started("u")
    queue.given_up(past)
    queue.offer(current)
    assert not queue.accepted("u", current)


def test_an_answer_that_comes_after_the_end_of_its_turn_is_in_order() -> None:
    queue, place = TurnQueue(MAX_WAITING), QueuePlace()
    queue.offer(place)
    queue.started("u")
    queue.ended("u")
    assert queue.accepted("u", place)


def test_late_news_of_a_turn_that_has_ended_touches_nothing_not_even_a_turn_without_an_id() -> None:
    queue, first, second = TurnQueue(MAX_WAITING), QueuePlace(), QueuePlace()
    queue.offer(first)
    queue.started("1")
    queue.offer(second)
    queue.cancel(first)
    queue.given_up(first)
    assert [queue.started("1"), queue.ended("1"), queue.is_current("1")] == [[], [], False]
    assert repr(second) == "<QueuePlace starting >"
    queue.started("2")
    assert [queue.started("1"), queue.ended("1"), queue.is_current("1"), queue.is_current("2")] == [[], [], False, True]
    assert repr(second) == "<QueuePlace running 2>"


def test_news_without_an_id_belong_to_no_turn_that_has_one() -> None:
    queue, place = TurnQueue(MAX_WAITING), QueuePlace()
    assert not queue.is_current("")
    queue.offer(place)
    queue.started("1")
    assert not queue.is_current("")


def test_turns_that_never_had_an_id_do_not_make_news_without_one_late() -> None:
    queue, first, second = TurnQueue(MAX_WAITING), QueuePlace(), QueuePlace()
    queue.offer(first)
    queue.start_failed(first)
    queue.offer(second)
    assert queue.is_current("a new one")
    assert queue.ended("a new one") == [Conclude(second)]


def test_only_so_many_ids_are_remembered() -> None:
    queue = TurnQueue(MAX_WAITING)
    for number in range(PAST_IDS + 1):
        queue.offer(QueuePlace())
        queue.ended(str(number))
    queue.offer(QueuePlace())
    assert queue.is_current("0")
    assert not queue.is_current("1")


def test_it_shows_what_runs_and_what_waits() -> None:
    queue = TurnQueue(MAX_WAITING)
    queue.offer(QueuePlace())
    queue.offer(QueuePlace())
    queue.started("u")
    assert repr(queue) == "<TurnQueue <QueuePlace running u>, 1 waiting>"


def test_what_callers_want_goes_before_mail() -> None:
    queue, first, mail, caller = TurnQueue(MAX_WAITING), QueuePlace(), QueuePlace(Source.MAIL), QueuePlace()
    for place in (first, mail, caller):
        queue.offer(place)
    queue.started("1")
    assert queue.ended("1") == [Conclude(first), Start(caller)]
    queue.started("2")
    assert queue.ended("2") == [Conclude(caller), Start(mail)]


def test_a_shut_queue_gives_up_what_waits_stops_what_runs_and_takes_only_a_last_turn() -> None:
    queue, running, waiting, last = TurnQueue(MAX_WAITING), QueuePlace(), QueuePlace(), QueuePlace()
    queue.offer(running)
    queue.started("1")
    queue.offer(waiting)
    assert queue.shut() == [Conclude(waiting), Interrupt(running)]
    assert queue._shut
    with pytest.raises(QueueShut):
        queue.offer(QueuePlace())
    assert queue.shut() == []
    assert queue.offer(last, last=True) == []
    assert queue.ended("1") == [Conclude(running), Start(last)]
    queue.started("2")
    queue.ended("2")
    queue.open()
    assert queue.offer(QueuePlace()) != []
