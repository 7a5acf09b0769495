"""The rules of named sessions: ids, what is forgotten when, and what is told when a thread is gone."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.codex.core import ThreadSpec
from codex_mcp.sessions.session import (
    EFFORT,
    LONGEST_ID,
    NamedSession,
    PastTurn,
    SessionLimits,
    Used,
    after_turn,
    changed_settings,
    effort_of,
    fallback_prompt,
    fault_of,
    forgotten,
    is_expired,
    with_wishes,
)

LETTERS = string.ascii_letters + string.digits + "-_"

EMPTY = NamedSession(id="s", created=0, used=0)


@given(st.text(LETTERS, min_size=1, max_size=LONGEST_ID))
def test_letters_digits_hyphens_and_underscores_are_an_id(session_id: str) -> None:
    assert fault_of(session_id) == ""


@given(st.text().filter(lambda text: not text or set(text) - set(LETTERS)))
def test_anything_else_is_not(session_id: str) -> None:
    assert "letters, numbers, hyphens, and underscores" in fault_of(session_id) or len(session_id) > LONGEST_ID


@pytest.mark.parametrize("session_id", ["ä", "1\n", "a b", "", "٣", "a/b"])
def test_these_are_no_ids(session_id: str) -> None:
    assert fault_of(session_id)


def test_an_id_has_at_most_256_characters() -> None:
    assert fault_of("a" * 256) == ""
    assert fault_of("a" * 257) == "Session ID must be 256 characters or fewer"


def test_a_session_expires_after_its_time_and_never_without_one() -> None:
    assert [is_expired(100, now, 10) for now in (50, 109.9, 110)] == [False, False, True]
    assert not is_expired(0, 1e12, 0)


@given(
    ages=st.lists(st.integers(0, 20), max_size=12),
    busy=st.sets(st.integers(0, 11)),
    limits=st.builds(SessionLimits, ttl=st.sampled_from((0.0, 10.0)), most=st.integers(1, 6)),
)
def test_the_newest_and_the_busy_stay_and_nothing_else_goes(
    ages: list[int], busy: set[int], limits: SessionLimits
) -> None:
    sessions = [Used(str(number), 100 - age) for number, age in enumerate(sorted(ages))]
    gone = forgotten(sessions, 100, limits, lambda each: int(each) in busy)
    assert not {int(each) for each in gone} & busy
    kept = [each for each in sessions if each.id not in gone]
    assert all(int(each.id) in busy or not is_expired(each.used, 100, limits.ttl) for each in kept)
    assert len(kept) <= max(limits.most, len(busy & set(range(len(sessions)))))
    for each in gone:
        older_kept = [other.id for other in kept if int(other.id) > int(each) and int(other.id) not in busy]
        assert is_expired(sessions[int(each)].used, 100, limits.ttl) or not older_kept


def test_the_last_two_turns_are_kept() -> None:
    session = EMPTY
    for number in range(5):
        session = after_turn(session, f"prompt {number}", f"answer {number}")
    assert session.turns == 5
    assert [turn.prompt for turn in session.recent] == ["prompt 3", "prompt 4"]


def test_the_fallback_tells_of_code_and_of_words() -> None:
    session = after_turn(EMPTY, "write it", "def add(a, b): ...")
    session = after_turn(session, "is it right?", "Yes. " * 100)
    assert fallback_prompt(session.recent, "Go on") == (
        f"Previous code context: def add(a, b): ......\nContext: is it right? -> {('Yes. ' * 20)}...\n\nTask: Go on"
    )
    assert fallback_prompt((), "Go on") == "Go on"


@given(st.text(), st.text())
def test_the_fallback_is_short_and_ends_with_the_task(prompt: str, answer: str) -> None:
    session = after_turn(after_turn(EMPTY, prompt * 1000, answer * 1000), prompt * 1000, f"function {answer * 1000}")
    told = fallback_prompt(session.recent, "Go on")
    assert len(told) < 5000
    assert told.endswith("\n\nTask: Go on")


def test_a_wish_replaces_and_no_wish_keeps() -> None:
    spec = with_wishes(ThreadSpec(model="a"), None, "high")
    assert (spec.model, effort_of(spec)) == ("a", "high")
    spec = with_wishes(spec, "b", None)
    assert (spec.model, effort_of(spec)) == ("b", "high")
    assert effort_of(ThreadSpec(config={EFFORT: 3})) is None


def test_only_given_settings_that_differ_count_as_changed() -> None:
    kept = ThreadSpec(cwd="/a", sandbox="read-only", config={"x": 1, EFFORT: "low"})
    asked = ThreadSpec(cwd="/b", sandbox="read-only", config={"x": 1, EFFORT: "high"}, approval_policy="never")
    assert changed_settings(kept, asked, ("cwd", "sandbox", "config")) == ["cwd"]
    assert changed_settings(kept, asked, ("approval_policy",)) == ["approval-policy"]


def test_a_past_turn_can_be_read_again() -> None:
    assert PastTurn("a", "b") == PastTurn("a", "b", is_code=False)
