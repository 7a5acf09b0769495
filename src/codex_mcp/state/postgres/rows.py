"""All rows of the database, read and written at once."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final

from codex_mcp.state.contract import NotEmpty
from codex_mcp.state.rows import COLUMNS, TABLES, LastToken, table_of, values_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import asyncpg

    from codex_mcp.state.rows import Row

LAST_TOKEN: Final = "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM token"
"""Of the sequence."""

RAISE_TOKEN: Final = f"SELECT setval('token', $1) WHERE $1 > ({LAST_TOKEN})"

AT_ONCE: Final = 1_000
"""Rows that are copied in one go; each goes to the database within the time for a statement."""


async def dump(connection: asyncpg.Connection, write: Callable[[Row], None]) -> None:
    write(LastToken(await connection.fetchval(LAST_TOKEN)))
    for kind, columns, order in TABLES:
        make: Any = kind
        async for row in connection.cursor(
            f"SELECT {columns} FROM {table_of(kind)} ORDER BY {order}", prefetch=AT_ONCE
        ):
            write(make(*row))


async def fill(connection: asyncpg.Connection, rows: Iterable[Row]) -> None:
    """Raises NotEmpty, and what the rows raise; then nothing may be stored."""
    for kind in COLUMNS:
        if await connection.fetchval(f"SELECT EXISTS (SELECT 1 FROM {table_of(kind)})"):
            raise NotEmpty
    for kind, all_of_kind in itertools.groupby(rows, key=type):
        if kind is LastToken:
            last = max(row.last for row in all_of_kind if isinstance(row, LastToken))
            await connection.execute(RAISE_TOKEN, last)
        else:
            columns = COLUMNS[kind].split(", ")
            while some := [values_of(row) for row in itertools.islice(all_of_kind, AT_ONCE)]:
                await connection.copy_records_to_table(table_of(kind), records=some, columns=columns)
