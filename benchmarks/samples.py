"""Pure. Numbers that were measured several times, and what is said of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Summary:
    """A few numbers that stand for many."""

    count: int
    median: float
    lower_quartile: float
    upper_quartile: float
    least: float
    p99: float


def summary(samples: Sequence[float]) -> Summary:
    """Summarise at least one sample."""
    return Summary(
        count=len(samples),
        median=quantile(samples, 0.5),
        lower_quartile=quantile(samples, 0.25),
        upper_quartile=quantile(samples, 0.75),
        least=min(samples),
        p99=quantile(samples, 0.99),
    )


def quantile(samples: Sequence[float], part: float) -> float:
    """The value below which this part of the samples lies, on a straight line between its two neighbours."""
    ordered = sorted(samples)
    place = part * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)
