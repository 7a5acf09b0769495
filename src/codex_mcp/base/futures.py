"""Futures that several events may resolve: the first one does.

`asyncio.wait` would do as well, but takes two more passes of the event loop for each end of a turn.
"""

from __future__ import annotations

import asyncio
from typing import TypeAlias, TypeVar

from msgspec import Struct, field

T = TypeVar("T")

Waiter: TypeAlias = asyncio.Future[None]
"""May be registered in several places. Whoever created it may cancel it."""


def resolve(future: asyncio.Future[T] | None, result: T) -> None:
    """Set the result, unless there is no future, or it is done or cancelled."""
    if future is not None and not future.done():
        future.set_result(result)


async def in_time(future: asyncio.Future[T], limit: asyncio.Timeout) -> T:
    """Wait within a block of `limit`. A result that is there when the time is up counts: its waiter has not run yet."""
    try:
        return await future
    except asyncio.CancelledError:
        if limit.expired() and future.done() and not future.cancelled():
            return future.result()
        raise


class Waiters(Struct, eq=False):
    """Futures that wait for the same event."""

    _waiting: list[Waiter] = field(default_factory=list)

    def add(self, waiter: Waiter) -> None:
        """Resolve this one at the next event. Futures that are done are dropped."""
        self._waiting = [each for each in self._waiting if not each.done()]
        self._waiting.append(waiter)

    def join(self, others: Waiters) -> None:
        """From now on, those wait for this event."""
        self._waiting += others.take()

    def take(self) -> list[Waiter]:
        """Those that wait, which are no longer told here."""
        waiting, self._waiting = self._waiting, []
        return waiting

    async def wait(self) -> None:
        """Return after the next event."""
        waiter: Waiter = asyncio.get_running_loop().create_future()
        self.add(waiter)
        await waiter

    def tell(self) -> None:
        """The event has happened: resolve all of them."""
        for waiter in self.take():
            if not waiter.done():
                waiter.set_result(None)
