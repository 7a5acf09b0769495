"""Few numbers that stand for many."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.samples import Summary, quantile, summary

NUMBERS = st.lists(st.floats(0, 1e9), min_size=1, max_size=50)


def test_a_summary_of_five_numbers_in_any_order() -> None:
    assert summary([5, 1, 4, 2, 3]) == Summary(5, 3, 2, 4, 1, quantile([1, 2, 3, 4, 5], 0.99))


def test_between_two_numbers_a_quantile_lies_on_the_line() -> None:
    assert quantile([10, 20], 0.25) == 12.5


def test_one_number_stands_for_itself() -> None:
    assert summary([7]) == Summary(1, 7, 7, 7, 7, 7)


@given(NUMBERS)
def test_no_quantile_leaves_the_range_of_the_samples(numbers: list[float]) -> None:
    told = summary(numbers)
    slack = 1e-9 * max(numbers)  # a straight line between two floats may miss its end by a rounding
    assert told.least == min(numbers)
    steps = [told.least, told.lower_quartile, told.median, told.upper_quartile, told.p99, max(numbers)]
    assert all(before <= after + slack for before, after in pairwise(steps))
