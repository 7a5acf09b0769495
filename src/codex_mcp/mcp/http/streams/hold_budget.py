"""Pure. For how long the core may be held back for readers: a budget that fills slowly, so that none stops a server.

waiting     takes from it, second for second
otherwise   it fills, by `share` of the time, up to `most`
"""

from __future__ import annotations


class HoldBudget:
    """Seconds that may be waited."""

    def __init__(self, most: float, share: float) -> None:
        self._most = most
        self._share = share
        self._level = most
        self._at = 0.0

    def left(self, now: float) -> float:
        """Seconds that may be waited now."""
        self._level = min(self._most, self._level + max(0.0, now - self._at) * self._share)
        self._at = now
        return self._level

    def spend(self, seconds: float, now: float) -> None:
        """So long was waited, until now."""
        self._level = max(0.0, self._level - seconds)
        self._at = now
