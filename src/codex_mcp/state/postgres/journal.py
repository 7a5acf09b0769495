"""The journal in PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from codex_mcp.state.contract import Trimmed, WrongPosition
from codex_mcp.state.postgres.view import CLAIMED, fence

if TYPE_CHECKING:
    from collections.abc import Sequence

    import asyncpg

    from codex_mcp.state.contract import Bounds, Claim
    from codex_mcp.state.postgres.engine import Engine

APPEND: Final = (
    f"WITH claimed AS ({CLAIMED}), moved AS ("
    "INSERT INTO stream SELECT $1, $4::text, greatest(0, cardinality($6::bytea[]) - $7::bigint),"
    " cardinality($6::bytea[])"
    " FROM claimed WHERE $5::bigint = 0 OR EXISTS (SELECT 1 FROM stream WHERE thread = $1 AND name = $4)"
    " ON CONFLICT (thread, name) DO UPDATE SET head = stream.head + cardinality($6::bytea[]),"
    " start = greatest(stream.start, stream.head + cardinality($6::bytea[]) - $7::bigint) WHERE stream.head = $5"
    " RETURNING start, head), added AS ("
    "INSERT INTO journal SELECT $1, $4::text, $5::bigint + number - 1, $3, body FROM moved,"
    " unnest($6::bytea[]) WITH ORDINALITY AS entries (body, number) WHERE $5 + number > moved.start), dropped AS ("
    "DELETE FROM journal USING moved WHERE thread = $1 AND stream = $4 AND at < moved.start)"
    " SELECT EXISTS (SELECT 1 FROM claimed), (SELECT head FROM moved)"
)

ENDS: Final = "SELECT start, head FROM stream WHERE thread = $1 AND name = $2"

READ: Final = "SELECT body FROM journal WHERE thread = $1 AND stream = $2 AND at >= $3 ORDER BY at LIMIT $4"

FORGET: Final = (
    f"WITH claimed AS ({CLAIMED}), entries AS (DELETE FROM journal USING claimed WHERE thread = $1),"
    " streams AS (DELETE FROM stream USING claimed WHERE thread = $1) SELECT EXISTS (SELECT 1 FROM claimed)"
)


class PostgresJournal:
    """See `contract.Journal`."""

    def __init__(self, engine: Engine, bounds: Bounds) -> None:
        self._engine = engine
        self._kept = bounds.journal_kept

    async def append(self, claim: Claim, stream: str, at: int, chunks: Sequence[bytes]) -> int:
        async def job(connection: asyncpg.Connection) -> int:
            place = (claim.thread, claim.node, claim.token, stream)
            valid, head = await connection.fetchrow(APPEND, *place, at, list(chunks), self._kept)
            fence(claim, valid=valid)
            if head is None:
                raise WrongPosition(claim.thread, stream, at, (await _ends(connection, claim.thread, stream))[1])
            assert isinstance(head, int)
            return head

        return await self._engine.run(job)

    async def head(self, thread: str, stream: str) -> int:
        return (await self._engine.run(lambda connection: _ends(connection, thread, stream)))[1]

    async def start(self, thread: str, stream: str) -> int:
        return (await self._engine.run(lambda connection: _ends(connection, thread, stream)))[0]

    async def read(self, thread: str, stream: str, after: int, limit: int) -> list[bytes]:
        async def job(connection: asyncpg.Connection) -> list[bytes]:
            rows = await connection.fetch(READ, thread, stream, after, limit)
            start, _ = await _ends(connection, thread, stream)  # afterwards: what was dropped meanwhile is noticed
            if after < start:
                raise Trimmed(thread, stream, after, start)
            return [bytes(body) for (body,) in rows]

        return await self._engine.run(job)

    async def forget(self, claim: Claim) -> None:
        place = (claim.thread, claim.node, claim.token)
        fence(claim, valid=await self._engine.run(lambda connection: connection.fetchval(FORGET, *place)))


async def _ends(connection: asyncpg.Connection, thread: str, stream: str) -> tuple[int, int]:
    row = await connection.fetchrow(ENDS, thread, stream)
    return (0, 0) if row is None else (row["start"], row["head"])
