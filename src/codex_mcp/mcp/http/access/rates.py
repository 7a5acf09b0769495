"""Pure. So many requests in a second: a bucket of tokens for each principal, filled at a steady rate.

a request        takes a token, or is told when the next one will be there
an idle second   adds `per_second` tokens, up to `burst`
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

MAX_PRINCIPALS: Final = 10_000
"""Buckets kept; whoever was away the longest has a full one again, which is what it would have anyway."""

BURST_SECONDS: Final = 2.0
"""A full bucket holds what comes in in this time: clients start with many requests at once."""


class Rates:
    """The buckets of all principals."""

    def __init__(self, per_second: float, burst: float | None = None) -> None:
        """A rate of 0 is no limit."""
        self.per_second = per_second
        self.burst = max(1.0, per_second * BURST_SECONDS) if burst is None else burst
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def taken(self, principal: str, now: float) -> float:
        """Take a token: 0 if there was one, else the seconds until there is."""
        if not self.per_second:
            return 0.0
        level = self._level(principal, now)
        wait = 0.0 if level >= 1 else (1 - level) / self.per_second
        self._buckets[principal] = (level - 1 if level >= 1 else level, now)
        self._buckets.move_to_end(principal)
        if len(self._buckets) > MAX_PRINCIPALS:
            self._buckets.popitem(last=False)
        return wait

    def wait(self, principal: str, now: float) -> float:
        """The seconds until there is a token to take; 0 if there is one."""
        level = self._level(principal, now)
        return 0.0 if level >= 1 or not self.per_second else (1 - level) / self.per_second

    def _level(self, principal: str, now: float) -> float:
        level, at = self._buckets.get(principal, (self.burst, now))
        return min(self.burst, level + max(0.0, now - at) * self.per_second)
