"""Every principal gets its own rate and no more; an address that sends invalid tokens has to wait."""

import math

from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.access.rates import FAILURES_BURST, MAX_BUCKETS, FailedLogins, Rates


def test_a_full_bucket_is_taken_at_once_and_then_refills() -> None:
    rates = Rates(8, burst=3)
    assert [rates.taken("a", 100.0) for _ in range(4)] == [0, 0, 0, 0.125]
    assert rates.taken("a", 100.0625) == 0.0625
    assert rates.taken("a", 100.125) == 0


def test_one_does_not_pay_for_another() -> None:
    rates = Rates(1, burst=1)
    assert [rates.taken(who, 0.0) for who in ("a", "b", "a", "b")] == [0, 0, 1, 1]


def test_without_a_rate_there_is_no_limit() -> None:
    rates = Rates(0)
    assert {rates.taken("a", 0.0) for _ in range(1000)} == {0}


def test_a_slow_rate_still_lets_one_through() -> None:
    assert Rates(0.01).taken("a", 0.0) == 0


def test_a_clock_that_stands_or_goes_back_gives_nothing_away() -> None:
    rates = Rates(1, burst=1)
    assert [rates.taken("a", now) for now in (10.0, 5.0, 5.0)] == [0, 1, 1]


def test_the_number_of_buckets_is_bounded() -> None:
    rates = Rates(1, burst=1)
    for number in range(MAX_BUCKETS + 1):
        rates.taken(str(number), 0.0)
    assert rates.taken("0", 0.0) == 0, "its bucket was forgotten, and is full again"
    assert rates.taken(str(MAX_BUCKETS), 0.0) > 0


@given(st.lists(st.floats(0, 0.5), max_size=100), st.floats(0.5, 20), st.integers(1, 10))
def test_nobody_gets_more_than_its_rate(pauses: list[float], per_second: float, burst: int) -> None:
    rates = Rates(per_second, burst)
    now = granted = 0.0
    for pause in pauses:
        now += pause
        granted += rates.taken("a", now) == 0
    assert granted <= burst + math.ceil(now * per_second)


@given(st.lists(st.floats(0, 2), max_size=50), st.floats(0.5, 20))
def test_who_waits_as_long_as_it_was_told_is_let_through(pauses: list[float], per_second: float) -> None:
    rates = Rates(per_second, burst=2)
    now = 0.0
    for pause in pauses:
        now += pause
        wait = rates.taken("a", now)
        if wait:
            now += wait + 1e-6  # a float has no more to give
            assert rates.taken("a", now) == 0


def test_after_a_burst_of_wrong_tokens_an_address_waits_and_the_log_says_so_once() -> None:
    logins = FailedLogins()
    told = [logins.failed("192.0.2.1", 100.0) for _ in range(int(FAILURES_BURST) + 5)]
    assert (told.index(True), told.count(True)) == (int(FAILURES_BURST) - 1, 1)
    assert logins.wait("192.0.2.1", 100.0) == 0.5
    assert logins.wait("192.0.2.2", 100.0) == 0.0
    assert logins.wait("192.0.2.1", 100.5) == 0.0
    assert not logins.failed("192.0.2.1", 100.5)
    assert logins.wait("192.0.2.1", 100.5) > 0
    assert [logins.failed("192.0.2.1", 161.0) for _ in range(int(FAILURES_BURST))].count(True) == 1
