"""A request, other than a call of a tool, that its client can cancel while it is being answered."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable


class RequestCancelled(Exception):
    """The client has cancelled the request, or has left before the answer."""


class CancellableRequest:
    def __init__(self) -> None:
        self._limit: asyncio.Timeout | None = None
        """Exists while the work runs."""
        self._is_cancelled = False

    def cancel(self) -> None:
        """Stop the work; if it has not begun, stop it as soon as it waits for something."""
        if not self._is_cancelled and self._limit is not None:
            self._limit.reschedule(asyncio.get_running_loop().time())
        self._is_cancelled = True

    async def run(self, work: Awaitable[object]) -> object:
        """The result of the work, which is cancelled at `cancel`. Raises RequestCancelled."""
        limit = asyncio.timeout(0 if self._is_cancelled else None)
        try:
            async with limit:
                self._limit = limit
                return await work
        except TimeoutError as exc:
            if limit.expired():
                raise RequestCancelled from exc
            raise
        finally:
            self._limit = None
