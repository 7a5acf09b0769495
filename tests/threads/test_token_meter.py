"""What each turn has used up, from totals that are told again, grow, and begin anew."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from codex_mcp.codex.facts import Tokens, TokensCounted, TurnStarted
from codex_mcp.threads.token_meter import TURNS_KEPT, TokenMeter, added, difference


def tokens(number: int) -> Tokens:
    return Tokens(number, 0, number // 10, 0, number)


def asked(number: int) -> Tokens:
    """The tokens of one request."""
    return replace(tokens(number), requests=1)


def measured(*counts: tuple[int, int]) -> list[Tokens]:
    """What the counts (total and newest) say was used since the one before."""
    meter = TokenMeter()
    return [meter.used(TokensCounted("u", tokens(total), tokens(last))) for total, last in counts]


def used(*counts: tuple[int, int]) -> list[int]:
    return [each.total_tokens for each in measured(*counts)]


@pytest.mark.parametrize(
    ("counts", "steps"),
    [
        ([(100, 100), (250, 150)], [100, 150]),
        ([(1500, 1500), (1500, 1500), (1500, 1500)], [1500, 0, 0]),  # two turns that were stopped
        ([(5000, 100), (5000, 100), (5200, 200)], [100, 0, 200]),  # resumed: what came before is not charged
        ([(5000, 100), (5000, 900), (5300, 300)], [100, 0, 300]),  # compacted: the newest is the size of what is left
        ([(5000, 100), (300, 300), (350, 50)], [100, 300, 50]),  # counted anew
        ([(100, 100), (400, 120)], [100, 300]),  # one count was lost on the way
    ],
)
def test_only_what_the_total_has_grown_by_was_used(counts: list[tuple[int, int]], steps: list[int]) -> None:
    assert used(*counts) == steps


@pytest.mark.parametrize("total", [100, 200, 300])
def test_the_first_count_after_turns_were_dropped_counts_whatever_the_total(total: int) -> None:
    meter = TokenMeter()
    meter.used(TokensCounted("u", tokens(200), tokens(100)))
    meter.turns_dropped("unknown")
    assert meter.used(TokensCounted("u", tokens(total), tokens(50))) == asked(50)


def test_what_is_told_again_after_turns_were_dropped_was_not_used_again() -> None:
    meter = TokenMeter()
    for turn, total in (("a", 100), ("b", 250), ("c", 900)):
        meter.read(TurnStarted(turn))
        meter.used(TokensCounted(turn, tokens(total), tokens(75)))
    meter.turns_dropped("c")
    assert meter.read(TurnStarted("d")) == TurnStarted("d")
    again, more = (meter.read(TokensCounted("d", tokens(total), tokens(75))) for total in (250, 300))
    assert again == TokensCounted("d", tokens(250), tokens(0))
    assert more == TokensCounted("d", tokens(300), asked(50))


def test_the_total_before_a_turn_that_is_too_old_is_forgotten() -> None:
    meter = TokenMeter()
    meter.used(TokensCounted("u", tokens(100), tokens(100)))
    for turn in range(TURNS_KEPT + 1):
        meter.read(TurnStarted(str(turn)))
    meter.turns_dropped("0")
    assert meter.used(TokensCounted("u", tokens(100), tokens(50))) == asked(50)
    meter.turns_dropped("1")
    assert meter.used(TokensCounted("u", tokens(100), tokens(50))) == tokens(0)


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(1, 3)), min_size=1, max_size=20))
def test_however_often_a_count_is_told_the_sum_is_the_total(steps: list[tuple[int, int]]) -> None:
    counts: list[tuple[int, int]] = []
    total = 0
    for step, times in steps:
        total += step
        counts += [(total, step)] * times
    assert sum(used(*counts)) == total


def test_each_growth_is_a_request_and_a_count_that_was_lost_is_one_as_well() -> None:
    counts = (100, 100), (100, 100), (250, 150), (900, 150), (950, 50), (40, 40)
    assert [each.requests for each in measured(*counts)] == [1, 0, 1, 2, 1, 1]
    assert [each.requests for each in measured((0, 0), (0, 0))] == [0, 0]


def test_nothing_used_is_nothing() -> None:
    assert added(None, Tokens()) is None
    assert added(None, tokens(5)) == tokens(5)
    assert added(tokens(5), Tokens()) == tokens(5)
    assert added(Tokens(1, 2, 3, 4, 5, 6), Tokens(10, 20, 30, 40, 50, 60)) == Tokens(11, 22, 33, 44, 55, 66)
    assert difference(Tokens(1, 9, 3, 4, 5), Tokens(0, 10, 0, 0, 0)) == Tokens(1, 0, 3, 4, 5)


def test_after_an_earlier_server_the_next_count_is_that_of_the_turn_that_it_left() -> None:
    meter = TokenMeter()
    meter.begin_at(Tokens(total_tokens=100), "left")
    newest = meter.read(TokensCounted("before it", Tokens(total_tokens=130), Tokens(total_tokens=30)))
    assert isinstance(newest, TokensCounted)
    assert (newest.turn_id, newest.last.total_tokens) == ("left", 30)
    assert meter.total == Tokens(total_tokens=130)
    following = meter.read(TokensCounted("later", Tokens(total_tokens=170), Tokens(total_tokens=10)))
    assert isinstance(following, TokensCounted)
    assert (following.turn_id, following.last.total_tokens) == ("later", 40)


def test_a_thread_that_had_used_nothing_begins_at_nothing() -> None:
    meter = TokenMeter()
    meter.begin_at(None, "left")
    used = meter.used(TokensCounted("left", Tokens(total_tokens=50), Tokens(total_tokens=20)))
    assert used.total_tokens == 50
