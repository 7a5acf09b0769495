"""The journal in PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from codex_mcp.state.postgres.view import CLAIMED, fence, put_record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codex_mcp.state.contract import Bounds, Claim, Record
    from codex_mcp.state.postgres.engine import Engine

APPEND: Final = (
    f"WITH claimed AS ({CLAIMED}), moved AS ("
    "INSERT INTO stream SELECT $1, $4::text, greatest(0, cardinality($5::bytea[]) - $6::bigint),"
    " cardinality($5::bytea[]) FROM claimed"
    " ON CONFLICT (thread, name) DO UPDATE SET head = stream.head + cardinality($5::bytea[]),"
    " start = greatest(stream.start, stream.head + cardinality($5::bytea[]) - $6::bigint)"
    " RETURNING start, head, head - cardinality($5::bytea[]) AS at), added AS ("
    "INSERT INTO journal SELECT $1, $4::text, at + number - 1, $3, body FROM moved,"
    " unnest($5::bytea[]) WITH ORDINALITY AS entries (body, number) WHERE at + number > moved.start), dropped AS ("
    "DELETE FROM journal USING moved WHERE thread = $1 AND stream = $4 AND journal.at < moved.start)"
    " SELECT EXISTS (SELECT 1 FROM claimed)"
)

APPEND_WITH: Final = APPEND.replace(
    ") SELECT EXISTS",
    f"), put AS ({put_record('$7::text', '$8::text', '$9::bytea')}) SELECT EXISTS",
)

READ: Final = "SELECT body FROM journal WHERE thread = $1 AND stream = $2 ORDER BY at"

FORGET: Final = (
    f"WITH claimed AS ({CLAIMED}), entries AS (DELETE FROM journal USING claimed WHERE thread = $1),"
    " streams AS (DELETE FROM stream USING claimed WHERE thread = $1) SELECT EXISTS (SELECT 1 FROM claimed)"
)


class PostgresJournal:
    """See `contract.Journal`."""

    def __init__(self, engine: Engine, bounds: Bounds) -> None:
        self._engine = engine
        self._kept = bounds.journal_kept

    async def append(self, claim: Claim, stream: str, chunks: Sequence[bytes], record: Record | None = None) -> None:
        given: tuple[object, ...] = (claim.thread, claim.node, claim.token, stream, list(chunks), self._kept)
        statement = APPEND
        if record is not None:
            statement, given = APPEND_WITH, (*given, record.kind, record.key, record.body)
        fence(claim, valid=await self._engine.run(lambda connection: connection.fetchval(statement, *given)))

    async def read(self, thread: str, stream: str) -> list[bytes]:
        rows = await self._engine.run(lambda connection: connection.fetch(READ, thread, stream))
        return [bytes(body) for (body,) in rows]

    async def forget(self, claim: Claim) -> None:
        place = (claim.thread, claim.node, claim.token)
        fence(claim, valid=await self._engine.run(lambda connection: connection.fetchval(FORGET, *place)))
