"""One transaction of a connection without an isolation level."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

T = TypeVar("T")


def in_transaction(
    connection: sqlite3.Connection, job: Callable[[sqlite3.Connection], T], begin: str = "BEGIN IMMEDIATE"
) -> T:
    """What the job returns, after its writes are stored. If it raises, nothing is written."""
    connection.execute(begin)
    try:
        result = job(connection)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # some errors of SQLite have ended it
            with contextlib.suppress(connection.Error):  # the first error counts; closing the connection rolls back
                connection.execute("ROLLBACK")
        raise
    return result
