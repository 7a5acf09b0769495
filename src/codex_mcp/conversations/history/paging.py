"""Pure. One page of a caller's own rows out of the app-server's pages, which also hold the rows of others.

A cursor is only known at the end of a page of the app-server. So a page in which the last wanted row is not the last
one is read again, up to that row.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Generic, TypeVar

from msgspec import Struct

Row = TypeVar("Row")

CHUNK: Final = 100
"""Rows asked of the app-server at once."""

REQUESTS: Final = 50
"""Requests to the app-server for one page. If they find too few own rows, the page is short and has a cursor."""


class Chunk(Struct, Generic[Row], frozen=True):
    """A page of the app-server; `cursor` is None at the end."""

    rows: Sequence[Row]
    cursor: str | None


class Page(Struct, Generic[Row], frozen=True):
    rows: list[Row]
    cursor: str | None
    """After the last row; None if no own row follows."""
    is_exact: bool = True
    """The row before the cursor is an own one."""


async def page_of(
    fetch: Callable[[str | None, int], Awaitable[Chunk[Row]]],
    is_own: Callable[[Row], Awaitable[bool]],
    size: int,
    after: str | None,
) -> Page[Row]:
    taken: list[Row] = []
    cursor, limit, is_exact = after, CHUNK, True
    stop: str | None = None
    for _ in range(REQUESTS):
        chunk = await fetch(cursor, limit)
        own = [index for index, row in enumerate(chunk.rows) if await is_own(row)]
        missing = size - len(taken)
        if missing == 0 and own:
            return Page(taken, stop)
        if 0 < missing <= len(own) and own[missing - 1] + 1 < len(chunk.rows):
            limit = own[missing - 1] + 1
            continue
        taken += [chunk.rows[index] for index in own]
        if chunk.cursor is None:
            return Page(taken, None)
        if missing and len(own) == missing:
            stop = chunk.cursor
        is_exact = bool(own) and own[-1] + 1 == len(chunk.rows)
        cursor, limit = chunk.cursor, CHUNK
    return Page(taken, stop, is_exact=True) if stop is not None else Page(taken, cursor, is_exact=is_exact)
