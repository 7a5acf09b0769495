"""Pure. What has happened in all threads, in numbers that only grow."""

from __future__ import annotations

from collections import Counter


class Counts:
    """Counted since the server started."""

    def __init__(self) -> None:
        self.turns: Counter[str] = Counter()
        """Turns that have ended, by status."""
        self.decisions: Counter[str] = Counter()
        """Questions that were decided, by decision; `withdrawn` is one that the core took back."""
