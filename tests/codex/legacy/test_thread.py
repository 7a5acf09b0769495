"""One thread of an old Codex, whatever is heard of it and in whichever order."""

from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.codex.core import ThreadSpec
from codex_mcp.codex.legacy.thread import ANNOUNCEMENTS_KEPT, LegacyThread, Unheard
from codex_mcp.wire.legacy import TokenCounts


def thread() -> LegacyThread:
    return LegacyThread("provisional", ThreadSpec())


def test_a_turn_that_ends_before_its_answer_leaves_the_thread_as_it_was() -> None:
    t = thread()
    t.sent(1)
    assert t.is_busy
    t.started("a")
    assert t.ended("a")
    assert t.answered(1, failed=False) is None
    assert (t.is_busy, t.is_spoiled, t.newest_call) == (False, False, None)


def test_it_has_its_own_id_from_the_first_event_on() -> None:
    t = thread()
    assert not t.is_named
    t.named("own")
    assert (t.id, t.is_named) == ("own", True)


def test_an_answer_before_the_end_of_the_turn_spoils_the_thread() -> None:
    t = thread()
    t.sent(1)
    t.started("a")
    assert t.answered(1, failed=True) == Unheard("a")
    assert (t.is_spoiled, t.is_busy) == (True, False)


def test_a_refusal_before_the_turn_began_spoils_nothing() -> None:
    t = thread()
    t.sent(1)
    assert t.answered(1, failed=True) == Unheard("")
    assert (t.is_spoiled, t.is_busy) == (False, False)


def test_an_answer_to_something_else_before_the_turn_began_spoils_the_thread() -> None:
    t = thread()
    t.sent(1)
    assert t.answered(1, failed=False) == Unheard("")
    assert t.is_spoiled


def test_a_cancelled_call_goes_on_reading_and_hears_what_the_next_one_does_not() -> None:
    t = thread()
    t.sent(1)
    t.started("a")
    assert t.ended("a")  # aborted; the call is not answered
    t.sent(2)
    assert t.newest_call == 2
    t.started("b")
    assert t.answered(2, failed=True) is None
    assert t.is_busy
    assert t.ended("b")
    assert t.answered(1, failed=False) is None
    assert not t.is_spoiled


def test_the_end_of_another_turn_ends_nothing() -> None:
    t = thread()
    t.sent(1)
    t.started("b")
    assert not t.ended("a")
    assert t.turn_id == "b"


def test_a_new_turn_begins_with_nothing_of_the_last() -> None:
    t = thread()
    t.started("a")
    t.commands["c"] = None
    t.failure = "because"
    t.ended("a")
    assert t.commands  # they may still have to be killed
    t.started("b")
    assert (t.commands, t.failure) == ({}, "")


def test_what_was_announced_is_told_once_and_the_oldest_is_forgotten() -> None:
    t = thread()
    for number in range(ANNOUNCEMENTS_KEPT + 1):
        t.announced(str(number), {"reason": number})
    assert t.announcement("0") == {}
    assert t.announcement("1") == {"reason": 1}
    assert t.announcement("1") == {}


@given(st.lists(st.integers(0, 50), max_size=20))
def test_counts_that_are_told_again_are_not_counted_again(steps: list[int]) -> None:
    t, total, counted = thread(), 0, 0
    for step in steps:
        total += step
        last = t.used(TokenCounts(total_tokens=total))
        assert (last is None) is (step == 0)
        counted += last.total_tokens if last is not None else 0
    assert counted == total


@given(st.lists(st.tuples(st.sampled_from(["sent", "started", "ended", "answered"]), st.integers(0, 3)), max_size=30))
def test_a_busy_thread_always_has_somebody_who_reads_it(heard: list[tuple[str, int]]) -> None:
    t, calls = thread(), 0
    for what, number in heard:
        match what:
            case "sent" if not t.is_busy and not t.is_spoiled:
                calls += 1
                t.sent(calls)
            case "started" if t.newest_call is not None:
                t.started(str(number))
            case "ended":
                t.ended(str(number))
            case "answered":
                t.answered(number, failed=bool(number % 2))
        assert not t.is_busy or t.newest_call is not None, repr(t)
