"""All records of a kind, as a server knows them: each look reads only what has changed since the one before."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import asyncpg

    from codex_mcp.state.postgres.engine import Engine

CHANGED: Final = (
    "SELECT seen.first, seen.gone, key, body FROM (SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS first,"
    " coalesce((SELECT number FROM gone WHERE kind = $1), 0) AS gone) AS seen"
    " LEFT JOIN record ON kind = $1 AND changed >= $2::text::xid8"
)
"""`first` is the oldest transaction that has not ended: what it or a later one has written may not be seen yet."""

NOTHING: Final = "0"


class FoundRecords:
    """The records of one kind."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._records: dict[str, bytes] = {}
        self._first = NOTHING
        self._gone = -1
        self._looking = asyncio.Lock()

    async def look(self, engine: Engine) -> dict[str, bytes]:
        """As they are now, ordered by key."""
        async with self._looking:  # an older answer must not come after a newer one
            rows = await self._ask(engine, self._first)
            if rows[0]["gone"] != self._gone or int(rows[0]["first"]) < int(self._first):
                # Some were deleted, which leaves nothing to read; or the database was replaced by an older one.
                rows, self._records = await self._ask(engine, NOTHING), {}
            self._first, self._gone = rows[0]["first"], rows[0]["gone"]
            if changed := {row["key"]: row["body"] for row in rows if row["key"] is not None}:
                self._records = dict(sorted((self._records | changed).items()))
            return dict(self._records)

    async def _ask(self, engine: Engine, since: str) -> list[asyncpg.Record]:
        return list(await engine.run(lambda connection: connection.fetch(CHANGED, self._kind, since)))
