"""All rows of the database, read and written at once, in the worker."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from codex_mcp.state.contract import NotEmpty
from codex_mcp.state.rows import COLUMNS, TABLES, LastToken, table_of, values_of

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable

    from codex_mcp.state.rows import Row


def dump(db: sqlite3.Connection, write: Callable[[Row], None]) -> None:
    write(LastToken(*db.execute("SELECT last FROM token").fetchone()))
    for kind, columns, order in TABLES:
        make: Any = kind
        for values in db.execute(f"SELECT {columns} FROM {table_of(kind)} ORDER BY {order}"):
            write(make(*values))


def fill(db: sqlite3.Connection, rows: Iterable[Row]) -> None:
    """Raises NotEmpty, and what the rows raise; then nothing may be stored."""
    if any(db.execute(f"SELECT 1 FROM {table_of(kind)}").fetchone() for kind in COLUMNS):
        raise NotEmpty
    for kind, some in itertools.groupby(rows, key=type):
        if kind is LastToken:
            db.executemany("UPDATE token SET last = max(last, ?)", map(values_of, some))
        else:
            columns = COLUMNS[kind]
            places = ", ".join("?" * (columns.count(",") + 1))
            db.executemany(f"INSERT INTO {table_of(kind)} ({columns}) VALUES ({places})", map(values_of, some))
