"""Pure. Prices of models, and what tokens cost."""

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct

PER: Final = 1_000_000
"""Prices are for this many tokens."""

ANY_MODEL: Final = "*"

EXPECTED: Final = "MODEL=INPUT/CACHED/OUTPUT, such as gpt-5.5=1.25/0.125/10, in your currency for a million tokens"


class Price(Struct, frozen=True):
    input: float
    cached_input: float
    output: float


def price_from(text: str) -> tuple[str, Price]:
    """A model and its price; without a price for cached input, that costs as much as other input. Raises ValueError."""
    model, _, amounts = text.partition("=")
    try:
        given = [float(amount) for amount in amounts.split("/")]
    except ValueError:
        given = []
    if not model.strip() or len(given) not in (2, 3) or not all(0 <= amount < PER for amount in given):
        raise ValueError(EXPECTED)
    return model.strip(), Price(given[0], given[-2], given[-1])


def prices_from(texts: Iterable[str]) -> dict[str, Price]:
    """The prices by model; of two for one model, the later counts."""
    return dict(map(price_from, texts))


def price_of(prices: Mapping[str, Price], model: str) -> Price | None:
    return prices.get(model) or prices.get(ANY_MODEL)


def cost(price: Price, input_tokens: int, cached_tokens: int, output_tokens: int) -> float:
    """`input_tokens` include those that were cached, as Codex counts them."""
    fresh = max(0, input_tokens - cached_tokens)
    return (fresh * price.input + cached_tokens * price.cached_input + output_tokens * price.output) / PER
