"""The journal in the database. Followers see this server's appends at once, and those of other servers by polling."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from codex_mcp.state.contract import Trimmed, WrongPosition
from codex_mcp.state.embedded.view import check

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import AsyncIterator, Sequence

    from codex_mcp.state.contract import Claim
    from codex_mcp.state.embedded.database import Database
    from codex_mcp.state.embedded.view import StoreView

READ_AT_ONCE: Final = 256
"""Entries that a follower fetches at once."""

LOOK_EVERY: Final = 0.25
"""Seconds between two checks for entries of other servers. One check reads one number for all followers."""


class EmbeddedJournal:
    """See `contract.Journal`."""

    def __init__(self, database: Database, view: StoreView) -> None:
        self._database = database
        self._view = view
        self._news = asyncio.Event()
        self._seen_version = -1
        self._looked_at = 0.0

    async def append(self, claim: Claim, stream: str, at: int, chunks: Sequence[bytes]) -> int:
        head = await self._database.write(lambda db: self._append(db, claim, stream, at, chunks))
        self.tell_followers()
        return head

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

    async def follow(self, thread: str, stream: str, after: int) -> AsyncIterator[bytes]:
        while not self._database.is_closing:
            news = self._news
            found = await self.read(thread, stream, after, READ_AT_ONCE)
            for entry in found:
                yield entry
            after += len(found)
            if not found:
                await self._hear(news)

    async def trim(self, claim: Claim, stream: str, before: int) -> None:
        def job(db: sqlite3.Connection) -> None:
            check(db, claim)
            start, head = _ends(db, claim.thread, stream)
            _drop_before(db, claim.thread, stream, max(start, min(before, head)))

        await self._database.write(job)

    async def forget(self, claim: Claim) -> None:
        def job(db: sqlite3.Connection) -> None:
            check(db, claim)
            db.execute("DELETE FROM journal WHERE thread = ?", (claim.thread,))
            db.execute("DELETE FROM stream WHERE thread = ?", (claim.thread,))

        await self._database.write(job)

    def tell_followers(self) -> None:
        """Entries were appended, or the store closes."""
        self._news.set()
        self._news = asyncio.Event()

    async def _hear(self, news: asyncio.Event) -> None:
        while not news.is_set():
            try:
                async with asyncio.timeout(LOOK_EVERY):
                    await news.wait()
            except TimeoutError:
                await self._look()

    async def _look(self) -> None:
        now = asyncio.get_running_loop().time()
        if self._database.is_closing or now - self._looked_at < LOOK_EVERY / 2:
            return  # another follower has just checked, and told all of them
        self._looked_at = now
        # The number changes when another connection writes.
        version = await self._database.read(lambda db: db.execute("PRAGMA data_version").fetchone()[0])
        if version != self._seen_version:
            self._seen_version = version
            self.tell_followers()

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
            _drop_before(db, claim.thread, stream, head - self._view.bounds.journal_kept)
        return head


def _ends(db: sqlite3.Connection, thread: str, stream: str) -> tuple[int, int]:
    place = (thread, stream)
    row: tuple[int, int] | None
    row = db.execute("SELECT start, head FROM stream WHERE thread = ? AND name = ?", place).fetchone()
    return row or (0, 0)


def _drop_before(db: sqlite3.Connection, thread: str, stream: str, position: int) -> None:
    place = (thread, stream)
    db.execute("DELETE FROM journal WHERE thread = ? AND stream = ? AND at < ?", (*place, position))
    db.execute("UPDATE stream SET start = ? WHERE thread = ? AND name = ?", (position, *place))
