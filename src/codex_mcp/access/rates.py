"""Pure. Rate limits: one token bucket per principal or address, refilled at a steady rate.

a request        takes a token, or is told when the next one is available
an idle second   adds `per_second` tokens, up to `burst`
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

MAX_BUCKETS: Final = 10_000
"""The bucket unused for longest is dropped first; it would be full by then anyway."""

BURST_SECONDS: Final = 2.0
"""A full bucket holds what this time adds: clients start with many requests at once."""

FAILURES_PER_SECOND: Final = 2.0
FAILURES_BURST: Final = 20.0
"""A person who mistypes and a client that retries with an old token stay below it."""

LOG_INTERVAL: Final = 60.0
"""Seconds between two log lines about one address."""


class Rates:
    def __init__(self, per_second: float, burst: float | None = None) -> None:
        """A rate of 0 means no limit."""
        self.per_second = per_second
        self.burst = max(1.0, per_second * BURST_SECONDS) if burst is None else burst
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def taken(self, key: str, now: float) -> float:
        """Take a token. Return 0 if there was one, otherwise the seconds until there is."""
        if not self.per_second:
            return 0.0
        level = self._level(key, now)
        wait = 0.0 if level >= 1 else (1 - level) / self.per_second
        self._buckets[key] = (level - 1 if level >= 1 else level, now)
        self._buckets.move_to_end(key)
        if len(self._buckets) > MAX_BUCKETS:
            self._buckets.popitem(last=False)
        return wait

    def wait(self, key: str, now: float) -> float:
        level = self._level(key, now)
        return 0.0 if level >= 1 or not self.per_second else (1 - level) / self.per_second

    def _level(self, key: str, now: float) -> float:
        level, at = self._buckets.get(key, (self.burst, now))
        return min(self.burst, level + max(0.0, now - at) * self.per_second)


class FailedLogins:
    """Addresses that sent invalid tokens.

    After a burst, two tokens per second are checked for such an address. Tokens that were valid before are always
    checked, so a client that shares the address is not locked out.
    """

    def __init__(self) -> None:
        self._rates = Rates(FAILURES_PER_SECOND, FAILURES_BURST)
        self._logged: dict[str, float] = {}

    def failed(self, address: str, now: float) -> bool:
        """Count an invalid token. True: the address must wait from now on, and this should be logged."""
        self._rates.taken(address, now)
        if not self.wait(address, now) or now - self._logged.get(address, -LOG_INTERVAL) < LOG_INTERVAL:
            return False
        self._logged = {each: at for each, at in self._logged.items() if now - at < LOG_INTERVAL}
        self._logged[address] = now
        return True

    def wait(self, address: str, now: float) -> float:
        """Seconds until another token from this address is checked; 0 if it is checked now."""
        return self._rates.wait(address, now)
