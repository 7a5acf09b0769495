"""Limits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.base.settings.team import TeamSettings as Limits
from codex_mcp.team import limits
from codex_mcp.team.limits import (
    HOUR,
    AgentUsage,
    check,
    not_ahead,
    with_earlier_turns,
    with_tokens,
    with_turn,
)

PLENTY = Limits(turns_per_hour=1_000_000)

steps = st.lists(st.floats(min_value=0, max_value=1000), max_size=40)


def after(delays: list[float], limits: Limits = PLENTY) -> tuple[AgentUsage, float]:
    """The usage after turns with these pauses between them, and what time it is then."""
    usage, now = AgentUsage(), 1_000_000.0
    for delay in delays:
        now += delay
        usage = with_turn(limits, usage, now)
    return usage, now


@given(steps, st.integers(0, 10**9), st.integers(0, 10**9))
def test_without_limits_nothing_is_ever_paused(delays: list[float], tokens: int, team_tokens: int) -> None:
    usage, now = after(delays)
    assert check(Limits(), with_tokens(usage, tokens), team_tokens, now) is None


@given(steps, st.integers(1, 20))
def test_no_hour_has_more_turns_than_allowed(delays: list[float], limit: int) -> None:
    limits, usage, now, begun = Limits(turns_per_hour=limit), AgentUsage(), 0.0, list[float]()
    for delay in delays:
        now += delay
        if check(limits, usage, 0, now) is None:
            usage = with_turn(limits, usage, now)
            begun.append(now)
    for moment in begun:
        assert sum(moment - HOUR < other <= moment for other in begun) <= limit


@given(steps, st.integers(1, 20))
def test_a_pause_ends_when_it_says_and_not_before(delays: list[float], limit: int) -> None:
    usage, now = after(delays)
    limits = Limits(turns_per_hour=limit)
    paused = check(limits, usage, 0, now)
    if paused is not None:
        assert paused.until is not None
        assert now < paused.until <= now + HOUR
        assert check(limits, usage, 0, paused.until) is None
        assert check(limits, usage, 0, (now + paused.until) / 2) is not None


@given(steps, st.integers(0, 20))
def test_no_more_is_remembered_than_the_limit_needs(delays: list[float], limit: int) -> None:
    limits = Limits(turns_per_hour=limit)
    usage, now = after(delays, limits)
    assert len(usage.turns) == min(limit, len(delays))
    assert check(limits, usage, 0, now) == check(limits, after(delays)[0], 0, now)


@given(steps, st.data(), st.integers(0, 20))
def test_who_comes_back_is_where_it_would_be_had_it_never_left(
    delays: list[float], data: st.DataObject, limit: int
) -> None:
    limits = Limits(turns_per_hour=limit)
    begun = after(delays)[0].turns
    left = data.draw(st.integers(0, len(begun)))
    usage = with_earlier_turns(limits, AgentUsage(tokens=7), data.draw(st.permutations(begun[:left])))
    for moment in begun[left:]:
        usage = with_turn(limits, usage, moment)
    assert usage == AgentUsage(after(delays, limits)[0].turns, 7)


def test_memory_has_an_end_and_a_limit_beyond_it_still_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "TURNS_KEPT", 5)
    usage, now = after([1.0] * 9)
    assert len(usage.turns) == 5
    assert check(PLENTY, usage, 0, now) is not None


@given(steps, st.floats(0, 10 * HOUR), st.integers(1, 20))
def test_a_clock_that_is_set_back_frees_no_turns_and_pauses_nobody_for_longer_than_an_hour(
    delays: list[float], back: float, limit: int
) -> None:
    limits = Limits(turns_per_hour=limit)
    usage, before = after(delays, limits)
    now = before - back
    seen = not_ahead(usage, now)
    assert not_ahead(seen, now) == seen
    if check(limits, usage, 0, before) is not None:
        paused = check(limits, seen, 0, now)
        assert paused is not None
        assert paused.until is not None
        assert paused.until <= now + HOUR
    assert check(limits, seen, 0, now + HOUR) is None
    # From there on it counts as ever: the turns are in order, and none lies ahead.
    assert list(seen.turns) == sorted(seen.turns)
    assert all(turn <= now for turn in seen.turns)


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (Limits(tokens_per_thread=100, tokens_per_team=500), "tokens_per_team"),
        (Limits(tokens_per_thread=100, tokens_per_team=501), "tokens_per_thread"),
        (Limits(tokens_per_thread=100, turns_per_hour=1), "tokens_per_thread"),
        (Limits(tokens_per_thread=101, turns_per_hour=1), "wait 60 min, or raise turns_per_hour"),
    ],
)
def test_the_sentence_says_which_limit_and_what_to_do(limits: Limits, words: str) -> None:
    usage = with_tokens(with_turn(PLENTY, AgentUsage(), 0.0), 100)
    paused = check(limits, usage, 500, 0.0)
    assert paused is not None
    assert words in paused.reason
    assert (paused.until is None) == ("tokens" in words)


def test_tokens_only_grow() -> None:
    assert with_tokens(with_tokens(AgentUsage(), 5), -3).tokens == 5
