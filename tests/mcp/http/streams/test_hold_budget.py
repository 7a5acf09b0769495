"""Waiting for slow readers costs a server a part of its time, and never all of it."""

from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.mcp.http.streams.hold_budget import HoldBudget


def test_a_budget_is_full_at_first_and_fills_slowly() -> None:
    budget = HoldBudget(2.0, 0.1)
    assert budget.left(100.0) == 2.0
    budget.spend(2.0, 102.0)
    assert budget.left(102.0) == 0.0
    assert budget.left(107.0) == 0.5
    assert budget.left(1000.0) == 2.0


def test_a_clock_that_goes_back_fills_nothing() -> None:
    budget = HoldBudget(2.0, 0.1)
    budget.left(100.0)
    budget.spend(2.0, 102.0)
    assert budget.left(50.0) == 0.0


@given(st.lists(st.floats(0, 10), max_size=50))
def test_whoever_waits_as_long_as_possible_waits_for_two_seconds_and_a_tenth_of_the_time(pauses: list[float]) -> None:
    budget, now, waited = HoldBudget(2.0, 0.1), 0.0, 0.0
    for pause in pauses:
        now += pause
        seconds = budget.left(now)
        now += seconds
        waited += seconds
        budget.spend(seconds, now)
    assert waited <= 2.0 + 0.1 * now + 1e-6
