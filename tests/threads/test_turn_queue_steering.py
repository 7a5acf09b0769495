"""The queue of a thread's turns: prompts that steer the running turn, and those that interrupt it."""

import pytest

from codex_mcp.codex.core import When
from codex_mcp.threads.turn_queue import (
    Conclude,
    Interrupt,
    QueueFull,
    QueuePlace,
    Return,
    Share,
    Source,
    Start,
    Steer,
    TurnQueue,
    TurnQueueState,
)

MAX_WAITING = 3


def test_a_prompt_that_steers_is_sent_once_the_turn_runs_and_ends_with_it() -> None:
    queue, host, first, second = TurnQueue(MAX_WAITING), QueuePlace(), QueuePlace(), QueuePlace()
    queue.offer(host)
    assert queue.offer(first, When.STEER) == []
    assert queue.started("1") == [Steer(first, host)]
    assert queue.offer(second, When.STEER) == [Steer(second, host)]
    assert (bool(queue.joined), queue.waiting) == (True, 0)
    for place in (first, second):
        queue.recorded(place)
    queue.model_went_on("1")
    assert queue.ended("1") == [Conclude(host), Share(first, host), Share(second, host)]
    assert (queue.idle, bool(queue.joined)) == (True, False)


def test_a_prompt_for_an_idle_thread_or_a_turn_that_is_stopped_steers_nothing() -> None:
    queue, first, waiting, second = TurnQueue(MAX_WAITING), QueuePlace(), QueuePlace(), QueuePlace()
    assert queue.offer(first, When.STEER) == [Start(first)]
    queue.started("1")
    queue.offer(waiting)
    queue.cancel(first)
    assert queue.offer(second, When.STEER) == []
    assert queue.ended("1", completed=False) == [Conclude(first), Start(second)]


def test_a_prompt_that_the_model_has_not_read_becomes_the_next_turn() -> None:
    queue, host, waiting, lost, said = TurnQueue(MAX_WAITING), QueuePlace(), QueuePlace(), QueuePlace(), QueuePlace()
    queue.offer(host)
    queue.started("1")
    queue.offer(waiting)
    queue.offer(lost, When.STEER)
    queue.offer(said, When.STEER)
    queue.recorded(said)
    assert queue.ended("1") == [Conclude(host), Return(lost), Return(said, said=True), Start(lost)]
    queue.started("2")
    assert queue.ended("2") == [Conclude(lost), Start(said)]
    queue.started("3")
    assert queue.ended("3") == [Conclude(said), Start(waiting)]


def test_mail_that_did_not_steer_waits_for_the_callers_and_comes_before_other_mail() -> None:
    queue, host, caller = TurnQueue(4), QueuePlace(), QueuePlace()
    other, lost, said = QueuePlace(Source.MAIL), QueuePlace(Source.MAIL), QueuePlace(Source.MAIL)
    queue.offer(host)
    queue.started("1")
    for place, when in ((other, When.QUEUE), (lost, When.STEER), (said, When.STEER), (caller, When.QUEUE)):
        queue.offer(place, when)
    queue.recorded(said)
    following = [queue.ended("1")[-1]]
    for number in ("2", "3", "4"):
        queue.started(number)
        following += queue.ended(number)[1:]
    assert following == [Start(place) for place in (said, caller, lost, other)]


def test_what_the_model_says_before_it_could_read_a_prompt_proves_nothing() -> None:
    queue, host, steering = TurnQueue(MAX_WAITING), QueuePlace(), QueuePlace()
    queue.offer(host)
    queue.started("1")
    queue.offer(steering, When.STEER)
    queue.model_went_on("1")
    queue.recorded(steering)
    queue.model_went_on("another")
    assert queue.ended("1") == [Conclude(host), Return(steering, said=True), Start(steering)]


def test_an_interrupt_stops_the_turn_and_goes_ahead_of_all_but_earlier_interrupts() -> None:
    queue, running, waiting, mail = TurnQueue(4), QueuePlace(), QueuePlace(), QueuePlace(Source.MAIL)
    first, second = QueuePlace(), QueuePlace()
    for place in (running, mail, waiting):
        queue.offer(place)
    queue.started("1")
    assert queue.offer(first, When.INTERRUPT) == [Interrupt(running)]
    assert queue.offer(second, When.INTERRUPT) == []
    assert queue.ended("1", completed=False) == [Conclude(running), Start(first)]
    queue.started("2")
    assert queue.ended("2") == [Conclude(first), Start(second)]
    queue.started("3")
    assert queue.ended("3") == [Conclude(second), Start(waiting)]


def test_a_full_queue_interrupts_nothing_and_takes_no_prompt_that_steers() -> None:
    queue, running = TurnQueue(1), QueuePlace()
    queue.offer(running)
    queue.started("1")
    queue.offer(QueuePlace(), When.STEER)
    for when in When:
        with pytest.raises(QueueFull):
            queue.offer(QueuePlace(), when)
    assert running.state is TurnQueueState.RUNNING


def test_a_shut_queue_gives_up_prompts_that_the_core_does_not_have_yet() -> None:
    queue, host, joining, recorded = TurnQueue(MAX_WAITING), QueuePlace(), QueuePlace(), QueuePlace()
    queue.offer(host)
    queue.started("1")
    queue.offer(joining, When.STEER)
    queue.offer(recorded, When.STEER)
    queue.recorded(recorded)
    assert queue.shut() == [Conclude(joining), Interrupt(host)]
    assert queue.ended("1") == [Conclude(host), Share(recorded, host)]


def test_a_prompt_cannot_join_a_turn_of_codex_that_has_ended() -> None:
    queue, place = TurnQueue(MAX_WAITING), QueuePlace()
    queue.offer(place)
    queue.missed("u")
    assert not queue.accepted("u", place)
    assert place.turn_id == ""


def test_a_turn_that_was_expected_and_has_not_begun_begins_now_unless_it_is_being_stopped() -> None:
    queue, place = TurnQueue(max_waiting=1), QueuePlace()
    queue.expect(place)
    assert queue.begin_expected(place) == [Start(place)]
    queue.cancel(place)
    assert queue.begin_expected(place) == [Conclude(place)]
    assert queue.idle
