"""The journal in the database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codex_mcp.state.contract import Trimmed, WrongPosition
from codex_mcp.state.embedded.view import check

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from codex_mcp.state.contract import Claim
    from codex_mcp.state.embedded.database import Database
    from codex_mcp.state.embedded.view import StoreView


class EmbeddedJournal:
    """See `contract.Journal`."""

    def __init__(self, database: Database, view: StoreView) -> None:
        self._database = database
        self._view = view

    async def append(self, claim: Claim, stream: str, at: int, chunks: Sequence[bytes]) -> int:
        return await self._database.write(lambda db: self._append(db, claim, stream, at, chunks))

    async def head(self, thread: str, stream: str) -> int:
        return (await self._database.read(lambda db: _ends(db, thread, stream)))[1]

    async def start(self, thread: str, stream: str) -> int:
        return (await self._database.read(lambda db: _ends(db, thread, stream)))[0]

    async def read(self, thread: str, stream: str, after: int, limit: int) -> list[bytes]:
        def job(db: sqlite3.Connection) -> list[bytes]:
            start, _ = _ends(db, thread, stream)
            if after < start:
                raise Trimmed(thread, stream, after, start)
            statement = "SELECT body FROM journal WHERE thread = ? AND stream = ? AND at >= ? ORDER BY at LIMIT ?"
            return [body for (body,) in db.execute(statement, (thread, stream, after, limit))]

        return await self._database.read(job)

    async def forget(self, claim: Claim) -> None:
        def job(db: sqlite3.Connection) -> None:
            check(db, claim)
            db.execute("DELETE FROM journal WHERE thread = ?", (claim.thread,))
            db.execute("DELETE FROM stream WHERE thread = ?", (claim.thread,))

        await self._database.write(job)

    # From here on everything runs in the worker, inside a transaction.

    def _append(self, db: sqlite3.Connection, claim: Claim, stream: str, at: int, chunks: Sequence[bytes]) -> int:
        check(db, claim)
        start, head = _ends(db, claim.thread, stream)
        if at != head:
            raise WrongPosition(claim.thread, stream, at, head)
        rows = [(claim.thread, stream, at + n, claim.token, chunk) for n, chunk in enumerate(chunks)]
        db.executemany("INSERT INTO journal VALUES (?, ?, ?, ?, ?)", rows)
        head += len(rows)
        db.execute("INSERT OR REPLACE INTO stream VALUES (?, ?, ?, ?)", (claim.thread, stream, start, head))
        if head - start > self._view.bounds.journal_kept:
            place, start = (claim.thread, stream), head - self._view.bounds.journal_kept
            db.execute("DELETE FROM journal WHERE thread = ? AND stream = ? AND at < ?", (*place, start))
            db.execute("UPDATE stream SET start = ? WHERE thread = ? AND name = ?", (start, *place))
        return head


def _ends(db: sqlite3.Connection, thread: str, stream: str) -> tuple[int, int]:
    place = (thread, stream)
    row: tuple[int, int] | None
    row = db.execute("SELECT start, head FROM stream WHERE thread = ? AND name = ?", place).fetchone()
    return row or (0, 0)
