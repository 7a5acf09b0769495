"""Records in the database: values, identities, names and their owners, and requests that came before."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from codex_mcp.state.contract import Binding, Earlier, IdentityTaken, Name, NameOwned, TooManyNames
from codex_mcp.state.embedded.view import check
from codex_mcp.state.names import released_by, used_by

if TYPE_CHECKING:
    import asyncio
    import sqlite3
    from collections.abc import Callable

    from codex_mcp.state.contract import Claim
    from codex_mcp.state.embedded.database import Database
    from codex_mcp.state.embedded.view import StoreView

T = TypeVar("T")


class EmbeddedRecords:
    """See `contract.Records`."""

    def __init__(self, database: Database, view: StoreView) -> None:
        self._database = database
        self._view = view
        self._found: dict[str, dict[str, bytes]] = {}
        """The records of the kinds that were asked for, as they are at `_version`. Only the worker uses both."""
        self._version = (0, 0)

    def put(self, claim: Claim, kind: str, key: str, body: bytes) -> asyncio.Future[None]:
        return self._run_claimed(claim, lambda db: self.put_in(db, kind, key, body))

    def delete(self, claim: Claim, kind: str, key: str) -> asyncio.Future[None]:
        return self._run_claimed(claim, lambda db: self._delete(db, kind, key))

    def bind(self, claim: Claim, team: str, identity: str) -> asyncio.Future[None]:
        return self._run_claimed(claim, lambda db: self._bind(db, claim.thread, team, identity))

    def unbind(self, claim: Claim, team: str, identity: str) -> asyncio.Future[None]:
        return self._run_claimed(claim, lambda db: _unbind(db, claim.thread, team, identity))

    def own(self, team: str, name: str, principal: str) -> asyncio.Future[Name]:
        return self._database.write(lambda db: self._own(db, team, name, principal))

    def disown(self, team: str, name: str, principal: str, now: float) -> asyncio.Future[None]:
        def job(db: sqlite3.Connection) -> None:
            released = released_by(_name(db, team, name), principal, now)
            if released is not None:
                _write_name(db, team, released)

        return self._database.write(job)

    def once(self, claim: Claim, principal: str, request_id: str) -> asyncio.Future[Earlier | None]:
        return self._run_claimed(claim, lambda db: self._once(db, claim.thread, principal, request_id))

    async def get(self, kind: str, key: str) -> bytes | None:
        statement = "SELECT body FROM record WHERE kind = ? AND key = ?"
        row = await self._database.read(lambda db: db.execute(statement, (kind, key)).fetchone())
        return bytes(row[0]) if row else None

    def find(self, kind: str) -> asyncio.Future[dict[str, bytes]]:
        return self._database.read(lambda db: self._find(db, kind))

    def bindings(self, team: str) -> asyncio.Future[list[Binding]]:
        statement = (
            "SELECT name, identity.thread, node FROM identity LEFT JOIN claim ON claim.thread = identity.thread"
            " WHERE team = ? ORDER BY name"
        )

        def job(db: sqlite3.Connection) -> list[Binding]:
            rows = db.execute(statement, (team,)).fetchall()
            living = {node_id for node_id in {row[2] for row in rows} if self._lives(db, node_id)}
            return [Binding(team, name, thread, node_id in living) for name, thread, node_id in rows]

        return self._database.read(job)

    async def names(self, team: str) -> list[Name]:
        statement = "SELECT name, principal, since, released FROM name WHERE team = ? ORDER BY name"
        return [Name(*row) for row in await self._database.read(lambda db: db.execute(statement, (team,)).fetchall())]

    def _run_claimed(self, claim: Claim, job: Callable[[sqlite3.Connection], T]) -> asyncio.Future[T]:
        def checked(db: sqlite3.Connection) -> T:
            check(db, claim)
            return job(db)

        return self._database.write(checked)

    # From here on everything runs in the worker, inside a transaction.

    def put_in(self, db: sqlite3.Connection, kind: str, key: str, body: bytes) -> None:
        db.execute("INSERT OR REPLACE INTO record VALUES (?, ?, ?)", (kind, key, body))
        if kind in self._found:
            self._found[kind][key] = body

    def _delete(self, db: sqlite3.Connection, kind: str, key: str) -> None:
        db.execute("DELETE FROM record WHERE kind = ? AND key = ?", (kind, key))
        if kind in self._found:
            self._found[kind].pop(key, None)

    def _find(self, db: sqlite3.Connection, kind: str) -> dict[str, bytes]:
        """The records of a kind, which are read again only after another process has written."""
        version = self._database.version(db)
        if version != self._version:
            self._version, self._found = version, {}
        if kind not in self._found:
            self._found[kind] = dict(db.execute("SELECT key, body FROM record WHERE kind = ?", (kind,)))
        return dict(sorted(self._found[kind].items()))

    def _lives(self, db: sqlite3.Connection, node_id: str | None) -> bool:
        node = None if node_id is None else self._view.node(db, node_id)
        return node is not None and node.alive

    def _stands(self, db: sqlite3.Connection, thread: str) -> bool:
        owner = self._view.owner(db, thread)
        return owner is not None and owner.alive

    def _bind(self, db: sqlite3.Connection, thread: str, team: str, identity: str) -> None:
        place = (team, identity)
        row = db.execute("SELECT thread FROM identity WHERE team = ? AND name = ?", place).fetchone()
        if row and row[0] != thread and self._stands(db, row[0]):
            raise IdentityTaken(team, identity, row[0])
        db.execute("INSERT OR REPLACE INTO identity VALUES (?, ?, ?)", (*place, thread))

    def _own(self, db: sqlite3.Connection, team: str, name: str, principal: str) -> Name:
        found = _name(db, team, name)
        used = used_by(found, name, principal)
        if used is None:
            raise NameOwned(team, name)
        if used != found:
            statement = "SELECT count(*) FROM name WHERE team = ? AND principal = ? AND released IS NULL"
            (count,) = db.execute(statement, (team, principal)).fetchone()
            if count >= self._view.bounds.names_kept:
                raise TooManyNames(team, self._view.bounds.names_kept)
            _write_name(db, team, used)
        return used

    def _once(self, db: sqlite3.Connection, thread: str, principal: str, request_id: str) -> Earlier | None:
        request = (principal, request_id)
        row = db.execute("SELECT thread FROM request WHERE principal = ? AND id = ?", request).fetchone()
        if row:
            return Earlier(row[0])
        number = db.execute("INSERT INTO request VALUES (NULL, ?, ?, ?)", (*request, thread)).lastrowid or 0
        db.execute("DELETE FROM request WHERE number <= ?", (number - self._view.bounds.requests_kept,))
        return None


def _unbind(db: sqlite3.Connection, thread: str, team: str, identity: str) -> None:
    db.execute("DELETE FROM identity WHERE team = ? AND name = ? AND thread = ?", (team, identity, thread))


def _name(db: sqlite3.Connection, team: str, name: str) -> Name | None:
    statement = "SELECT name, principal, since, released FROM name WHERE team = ? AND name = ?"
    row = db.execute(statement, (team, name)).fetchone()
    return None if row is None else Name(*row)


def _write_name(db: sqlite3.Connection, team: str, name: Name) -> None:
    row = (team, name.name, name.principal, name.since, name.released)
    db.execute("INSERT OR REPLACE INTO name VALUES (?, ?, ?, ?, ?)", row)
