"""Rate limits of the account: read as Codex reports them, shown, and warned of when they are near."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.threads.limits.rate_limits import NONE_KNOWN, RateLimits, Window, described, rate_limits_from, warnings

REPORTED = {
    "limitId": "codex",
    "primary": {"usedPercent": 85, "windowDurationMins": 300, "resetsAt": 4_600},
    "secondary": {"usedPercent": 20, "windowDurationMins": 10_080, "resetsAt": 600_000},
    "credits": None,
}


def test_both_windows_are_read() -> None:
    limits = rate_limits_from(REPORTED)
    assert limits == RateLimits(Window(85, 300, 4_600), Window(20, 10_080, 600_000))
    assert described(limits)[0] == {"used_percent": 85, "window_minutes": 300, "resets_at": 4_600}


@pytest.mark.parametrize("reported", [{}, {"primary": None}, {"primary": "much"}, {"primary": {"usedPercent": "x"}}])
def test_what_cannot_be_read_is_unknown(reported: dict[str, object]) -> None:
    assert rate_limits_from(reported) == NONE_KNOWN
    assert described(NONE_KNOWN) == []


def test_a_window_that_is_nearly_used_up_is_warned_of() -> None:
    told = "The account has used 85 % of its rate limit per 5 hours; it is reset in 60 min."
    assert warnings(rate_limits_from(REPORTED), now=1_000) == [told]


@pytest.mark.parametrize(
    ("minutes", "words"),
    [(60, " per hour"), (1440, " per day"), (10_080, " per week"), (20_160, " per 2 weeks"), (7, " per 7 minutes")],
)
def test_windows_are_named_as_people_do(minutes: int, words: str) -> None:
    assert warnings(RateLimits(Window(99, minutes)), 0) == [f"The account has used 99 % of its rate limit{words}."]


@given(st.floats(0, 200), st.none() | st.integers(0, 10_000), st.integers(0, 10_000))
def test_only_a_window_that_is_near_and_not_over_is_warned_of(used: float, resets: int | None, now: int) -> None:
    is_over = resets is not None and resets <= now
    assert bool(warnings(RateLimits(Window(used, 60, resets)), now)) is (used >= 80 and not is_over)
