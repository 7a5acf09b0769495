"""Observers get a copy of every event of a thread."""

from codex_mcp.codex.core import Event
from codex_mcp.threads.observers import Observers

FIRST = Event("t1", {"type": "task_started"})
SECOND = Event("t1", {"type": "task_complete"})


def test_each_observer_gets_the_events_from_the_moment_it_was_added() -> None:
    observers, early, late = Observers(), list[Event](), list[Event]()
    observers.add("a", lambda _, event: early.append(event))
    observers.tell("a", FIRST)
    observers.add("a", lambda _, event: late.append(event))
    observers.tell("a", SECOND)
    observers.tell("b", FIRST)
    assert (early, late) == ([FIRST, SECOND], [SECOND])


def test_an_observer_may_remove_itself_while_it_is_told() -> None:
    observers, seen = Observers(), list[Event]()

    def once(thread_id: str, event: Event) -> None:
        seen.append(event)
        observers.remove(thread_id, once)

    observers.add("a", once)
    observers.add("a", lambda _, event: seen.append(event))
    observers.tell("a", FIRST)
    observers.tell("a", SECOND)
    assert seen == [FIRST, FIRST, SECOND]
    observers.remove("a", once)
    observers.remove("unknown", once)
    assert len(observers) == 1


def test_observers_follow_a_thread_that_receives_its_own_id() -> None:
    observers, seen = Observers(), list[str]()
    observers.add("provisional", lambda thread_id, _: seen.append(thread_id))
    observers.thread_named("provisional", "own")
    observers.thread_named("other", "another")
    observers.tell("provisional", FIRST)
    observers.tell("own", SECOND)
    assert seen == ["own"]
