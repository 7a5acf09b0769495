"""Prices of models are read as they are written, and tokens are charged by them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.base.settings.prices import Price, cost, price_from, price_of, prices_from

AMOUNTS = st.floats(0, 1000)
TOKENS = st.integers(0, 10**9)


def test_a_price_names_a_model_and_three_amounts() -> None:
    assert price_from("gpt-5.5=1.25/0.125/10") == ("gpt-5.5", Price(1.25, 0.125, 10))


def test_cached_input_costs_as_much_as_other_input_if_no_price_is_given_for_it() -> None:
    assert price_from("local=1/2") == ("local", Price(1, 1, 2))


@pytest.mark.parametrize(
    "text", ["", "gpt-5.5", "=1/2/3", "m=1", "m=1/2/3/4", "m=a/b/c", "m=-1/2/3", "m=nan/1/1", "m=inf/1"]
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="MODEL=INPUT/CACHED/OUTPUT"):
        price_from(text)


def test_the_star_is_the_price_of_every_other_model() -> None:
    prices = prices_from(["a=1/1/1", "*=2/2/2", "a=3/3/3"])
    assert price_of(prices, "a") == Price(3, 3, 3)
    assert price_of(prices, "b") == Price(2, 2, 2)
    assert price_of({}, "b") is None


@given(AMOUNTS, AMOUNTS, AMOUNTS, TOKENS, TOKENS, TOKENS)
def test_each_token_is_charged_once(
    fresh: float, cached: float, output: float, input_tokens: int, cached_tokens: int, output_tokens: int
) -> None:
    cached_tokens = min(cached_tokens, input_tokens)
    charged = cost(Price(fresh, cached, output), input_tokens, cached_tokens, output_tokens)
    wanted = (input_tokens - cached_tokens) * fresh + cached_tokens * cached + output_tokens * output
    assert charged == pytest.approx(wanted / 1_000_000)
