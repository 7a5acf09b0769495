"""Records in PostgreSQL: values, identities, names and their owners, and requests that came before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from codex_mcp.state.contract import Binding, Earlier, IdentityTaken, Name, NameOwned, TooManyNames
from codex_mcp.state.names import released_by, used_by
from codex_mcp.state.postgres.found import FoundRecords
from codex_mcp.state.postgres.view import CLAIMED, fence, put_record

if TYPE_CHECKING:
    import asyncpg

    from codex_mcp.state.contract import Bounds, Claim
    from codex_mcp.state.postgres.engine import Engine
    from codex_mcp.state.postgres.view import NodesView


def _fenced(write: str) -> str:
    """A statement that writes only under a valid claim, and says whether it is valid."""
    return f"WITH claimed AS ({CLAIMED}), written AS ({write}) SELECT EXISTS (SELECT 1 FROM claimed)"


PUT: Final = _fenced(put_record("$4::text", "$5::text", "$6::bytea"))
DELETE: Final = _fenced(
    "DELETE FROM record USING claimed WHERE kind = $4 AND key = $5 RETURNING kind), counted AS ("
    "INSERT INTO gone SELECT kind, 1 FROM written ON CONFLICT (kind) DO UPDATE SET number = gone.number + 1"
)
UNBIND: Final = _fenced("DELETE FROM identity USING claimed WHERE team = $4 AND name = $5 AND thread = $1")

BIND: Final = "INSERT INTO identity VALUES ($1, $2, $3) ON CONFLICT (team, name) DO UPDATE SET thread = excluded.thread"
BINDINGS: Final = (
    "SELECT name, identity.thread, node FROM identity LEFT JOIN claim USING (thread) WHERE team = $1 ORDER BY name"
)
NAMES: Final = "SELECT name, principal, since, released FROM name WHERE team = $1"
OWN: Final = (
    "INSERT INTO name VALUES ($1, $2, $3, $4, $5) ON CONFLICT (team, name)"
    " DO UPDATE SET principal = excluded.principal, since = excluded.since, released = excluded.released"
)
REMEMBER: Final = (
    "INSERT INTO request (principal, id, thread) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING number"
)

ALONE: Final = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))"
"""Until the end of the transaction, for what is decided about a name."""


class PostgresRecords:
    """See `contract.Records`."""

    def __init__(self, engine: Engine, view: NodesView) -> None:
        self._engine = engine
        self._view = view
        self._bounds: Bounds = view.bounds
        self._found: dict[str, FoundRecords] = {}
        """By kind; there are three."""

    async def put(self, claim: Claim, kind: str, key: str, body: bytes) -> None:
        await self._write(PUT, claim, kind, key, body)

    async def delete(self, claim: Claim, kind: str, key: str) -> None:
        await self._write(DELETE, claim, kind, key)

    async def bind(self, claim: Claim, team: str, identity: str) -> None:
        async def job(connection: asyncpg.Connection) -> None:
            await connection.execute(ALONE, f"identity {team} {identity}")
            await _check(connection, claim)
            held = await connection.fetchval(
                "SELECT thread FROM identity WHERE team = $1 AND name = $2", team, identity
            )
            if held not in (None, claim.thread):
                owned = await self._view.owner(connection, held)
                if owned is not None and owned[1].alive:
                    raise IdentityTaken(team, identity, held)
            await connection.execute(BIND, team, identity, claim.thread)

        await self._engine.write(job)

    async def unbind(self, claim: Claim, team: str, identity: str) -> None:
        await self._write(UNBIND, claim, team, identity)

    async def own(self, team: str, name: str, principal: str) -> Name:
        async def job(connection: asyncpg.Connection) -> Name:
            await connection.execute(ALONE, f"names {team}")
            found = await _name(connection, team, name)
            used = used_by(found, name, principal)
            if used is None:
                raise NameOwned(team, name)
            if used != found:
                counting = "SELECT count(*) FROM name WHERE team = $1 AND principal = $2 AND released IS NULL"
                if await connection.fetchval(counting, team, principal) >= self._bounds.names_kept:
                    raise TooManyNames(team, self._bounds.names_kept)
                await connection.execute(OWN, team, used.name, used.principal, used.since, used.released)
            return used

        return await self._engine.write(job)

    async def disown(self, team: str, name: str, principal: str, now: float) -> None:
        async def job(connection: asyncpg.Connection) -> None:
            await connection.execute(ALONE, f"names {team}")
            released = released_by(await _name(connection, team, name), principal, now)
            if released is not None:
                row = (released.name, released.principal, released.since, released.released)
                await connection.execute(OWN, team, *row)

        await self._engine.write(job)

    async def names(self, team: str) -> list[Name]:
        rows = await self._engine.run(lambda connection: connection.fetch(f"{NAMES} ORDER BY name", team))
        return [Name(*row) for row in rows]

    async def once(self, claim: Claim, principal: str, request_id: str) -> Earlier | None:
        earlier = "SELECT thread FROM request WHERE principal = $1 AND id = $2"

        async def job(connection: asyncpg.Connection) -> Earlier | None:
            await _check(connection, claim)
            request = (principal, request_id)
            if thread := await connection.fetchval(earlier, *request):
                return Earlier(thread)
            number = await connection.fetchval(REMEMBER, *request, claim.thread)
            if number is None:  # at this moment it came to another server, too
                return Earlier(await connection.fetchval(earlier, *request))
            await connection.execute("DELETE FROM request WHERE number <= $1", number - self._bounds.requests_kept)
            return None

        return await self._engine.write(job)

    async def get(self, kind: str, key: str) -> bytes | None:
        statement = "SELECT body FROM record WHERE kind = $1 AND key = $2"
        return await self._engine.run(lambda connection: connection.fetchval(statement, kind, key))

    async def find(self, kind: str) -> dict[str, bytes]:
        return await self._found.setdefault(kind, FoundRecords(kind)).look(self._engine)

    async def bindings(self, team: str) -> list[Binding]:
        async def job(connection: asyncpg.Connection) -> list[Binding]:
            rows = await connection.fetch(BINDINGS, team)
            nodes = await self._view.nodes(connection, {row["node"] for row in rows if row["node"] is not None})
            living = {node.id for node in nodes.values() if node.alive}
            return [Binding(team, name, thread, node in living) for name, thread, node in rows]

        return await self._engine.run(job)

    async def _write(self, statement: str, claim: Claim, *values: Any) -> None:
        place = (claim.thread, claim.node, claim.token)
        valid = await self._engine.run(lambda connection: connection.fetchval(statement, *place, *values))
        fence(claim, valid=valid)


async def _check(connection: asyncpg.Connection, claim: Claim) -> None:
    """Raise Fenced unless the claim is valid, and stays so until the end of the transaction."""
    fence(claim, valid=bool(await connection.fetchval(CLAIMED, claim.thread, claim.node, claim.token)))


async def _name(connection: asyncpg.Connection, team: str, name: str) -> Name | None:
    row = await connection.fetchrow(f"{NAMES} AND name = $2", team, name)
    return None if row is None else Name(*row)
