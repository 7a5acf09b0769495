"""Futures that wait for the same event: the end of a turn, or a question of it."""

from __future__ import annotations

from msgspec import Struct, field

from codex_mcp.base.futures import Waiter


class Waiters(Struct, eq=False):
    """Futures that wait for the same event."""

    _waiting: list[Waiter] = field(default_factory=list)

    def add(self, waiter: Waiter) -> None:
        """Resolve this one at the next event. Futures that are done are dropped."""
        self._waiting = [each for each in self._waiting if not each.done()]
        self._waiting.append(waiter)

    def tell(self) -> None:
        """The event has happened: resolve all of them."""
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            if not waiter.done():
                waiter.set_result(None)
