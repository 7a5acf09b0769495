"""The journal in the database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codex_mcp.state.embedded.view import check

if TYPE_CHECKING:
    import asyncio
    import sqlite3
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from codex_mcp.state.contract import Claim, Record
    from codex_mcp.state.embedded.database import Database
    from codex_mcp.state.embedded.view import StoreView

    PutRecord: TypeAlias = Callable[[sqlite3.Connection, str, str, bytes], None]


class EmbeddedJournal:
    """See `contract.Journal`."""

    def __init__(self, database: Database, view: StoreView, put: PutRecord) -> None:
        """`put` writes a record inside a transaction."""
        self._database = database
        self._view = view
        self._put = put

    def append(
        self, claim: Claim, stream: str, chunks: Sequence[bytes], record: Record | None = None
    ) -> asyncio.Future[None]:
        def job(db: sqlite3.Connection) -> None:
            self._append(db, claim, stream, chunks)
            if record is not None:
                self._put(db, record.kind, record.key, record.body)

        return self._database.write(job)

    async def read(self, thread: str, stream: str) -> list[bytes]:
        statement = "SELECT body FROM journal WHERE thread = ? AND stream = ? ORDER BY at"
        rows = await self._database.read(lambda db: db.execute(statement, (thread, stream)).fetchall())
        return [body for (body,) in rows]

    def forget(self, claim: Claim) -> asyncio.Future[None]:
        def job(db: sqlite3.Connection) -> None:
            check(db, claim)
            db.execute("DELETE FROM journal WHERE thread = ?", (claim.thread,))
            db.execute("DELETE FROM stream WHERE thread = ?", (claim.thread,))

        return self._database.write(job)

    # From here on everything runs in the worker, inside a transaction.

    def _append(self, db: sqlite3.Connection, claim: Claim, stream: str, chunks: Sequence[bytes]) -> None:
        check(db, claim)
        place = (claim.thread, stream)
        row = db.execute("SELECT start, head FROM stream WHERE thread = ? AND name = ?", place).fetchone()
        start, head = row or (0, 0)
        rows = [(*place, at, claim.token, chunk) for at, chunk in enumerate(chunks, head)]
        db.executemany("INSERT INTO journal VALUES (?, ?, ?, ?, ?)", rows)
        head += len(rows)
        if head - start > self._view.bounds.journal_kept:
            start = head - self._view.bounds.journal_kept
            db.execute("DELETE FROM journal WHERE thread = ? AND stream = ? AND at < ?", (*place, start))
        db.execute("INSERT OR REPLACE INTO stream VALUES (?, ?, ?, ?)", (*place, start, head))
