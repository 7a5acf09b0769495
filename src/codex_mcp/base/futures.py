"""Futures that several events may resolve: the first one does.

`asyncio.wait` would do as well, but takes two more passes of the event loop for each end of a turn.
"""

from __future__ import annotations

import asyncio
from typing import TypeAlias, TypeVar

T = TypeVar("T")

Waiter: TypeAlias = asyncio.Future[None]
"""May be registered in several places. Whoever created it may cancel it."""


def resolve(future: asyncio.Future[T] | None, result: T) -> None:
    """Set the result, unless there is no future, or it is done or cancelled."""
    if future is not None and not future.done():
        future.set_result(result)
