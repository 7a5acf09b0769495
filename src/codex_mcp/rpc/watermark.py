"""Pure. Tells a producer when too much of what it makes waits, and when there is room again."""

from __future__ import annotations

from collections.abc import Callable


class Watermark:
    """Full above `high`, until no more than `low` is left."""

    def __init__(self, high: float, low: float, full: Callable[[], None], has_room: Callable[[], None]) -> None:
        self._high = high
        self._low = low
        self._full = full
        self._has_room = has_room
        self.is_full = False

    def level(self, waiting: float) -> None:
        """So much waits now."""
        before, self.is_full = self.is_full, waiting > (self._low if self.is_full else self._high)
        if self.is_full and not before:
            self._full()
        elif before and not self.is_full:
            self._has_room()
