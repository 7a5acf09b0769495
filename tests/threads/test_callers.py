"""Which threads a caller is shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.threads import callers
from codex_mcp.threads.callers import Callers


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("123456"))))
def test_each_caller_has_its_own_threads_the_last_used_at_the_end(notes: list[tuple[str, str]]) -> None:
    known = Callers()
    told: list[str] = []
    known.watch("a", lambda: told.append("a"))
    for caller, thread in notes:
        known.note(caller, thread)
    for caller in "abc":
        own = [thread for who, thread in notes if who == caller]
        assert list(known.threads(caller)) == list(reversed(dict.fromkeys(reversed(own))))
    assert len(told) == len(known.threads("a"))


def test_a_list_is_bounded_and_so_is_the_number_of_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callers, "THREADS_LISTED", 2)
    monkeypatch.setattr(callers, "CALLERS_KEPT", 2)
    known = Callers()
    for thread in "123":
        known.note("a", thread)
    assert known.threads("a") == ("2", "3")
    known.note("b", "1")
    known.note("a", "2")
    known.note("c", "1")
    assert [known.threads(caller) for caller in "abc"] == [("3", "2"), (), ("1",)]


def test_whoever_watches_no_longer_is_told_nothing() -> None:
    known = Callers()
    told: list[int] = []

    def watcher() -> None:
        told.append(1)

    known.watch("a", watcher)
    known.note("b", "1")
    known.unwatch("a", watcher)
    known.unwatch("a", watcher)
    known.note("a", "1")
    assert told == []
