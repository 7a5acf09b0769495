"""Named sessions in a small database beside Codex's own files, shared by all servers of one Codex home."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from codex_mcp.sessions.database import SessionDatabase
from codex_mcp.sessions.session import Key, NamedSession, SessionLimits, Used, after_turn, forgotten, is_expired

if TYPE_CHECKING:
    import sqlite3

logger = logging.getLogger(__name__)

DATABASE: Final = os.path.join("codex-mcp", "sessions.db")


class SessionStore:
    def __init__(self, codex_home: str, limits: SessionLimits, is_busy: Callable[[Key], bool]) -> None:
        self._database = SessionDatabase(os.path.join(codex_home, DATABASE))
        self._limits = limits
        self._is_busy = is_busy
        self.aclose = self._database.aclose

    @property
    def trouble(self) -> str:
        """Why sessions are only in memory."""
        return self._database.trouble

    async def get(self, key: Key) -> NamedSession | None:
        return await self._database.run(lambda database: _found(database, key))

    async def begin_turn(self, key: Key, session: NamedSession, *, continues: bool) -> NamedSession:
        """Record that a turn begins, and forget what is due. A session that continues keeps its turns."""

        def write(database: sqlite3.Connection) -> NamedSession:
            before = _found(database, key) if continues else None
            kept = session
            if before is not None:
                kept = replace(session, created=before.created, turns=before.turns, recent=before.recent)
            _write(database, key, kept)
            self._forget(database, key.principal, session.used)
            return kept

        return await self._database.write(write)

    async def add_turn(self, key: Key, session: NamedSession, prompt: str, answer: str) -> NamedSession:
        """Add a turn that succeeded, with the settings that it had.

        It is dropped if the session was reset in the meantime.
        """

        def write(database: sqlite3.Connection) -> NamedSession:
            before = _found(database, key) or session
            if before.thread != session.thread:
                return before
            added = after_turn(before, prompt, answer)
            added = replace(added, used=max(before.used, session.used), model=session.model, spec=session.spec)
            _write(database, key, added)
            return added

        return await self._database.write(write)

    async def rename_thread(self, key: Key, before: str, now: str) -> None:
        """The thread of a session has received its own id."""

        def write(database: sqlite3.Connection) -> None:
            session = _found(database, key)
            if session is not None and session.thread == before:
                _write(database, key, replace(session, thread=now))

        await self._database.write(write)

    async def all_of(self, principal: str, now: float) -> list[NamedSession]:
        """The sessions of a principal, the most recently used first."""

        def read(database: sqlite3.Connection) -> list[NamedSession]:
            statement = "SELECT id, used, body FROM sessions WHERE principal = ? ORDER BY seq DESC"
            rows = database.execute(statement, (principal,)).fetchall()
            used = [Used(session_id, at) for session_id, at, _ in rows]
            gone = set(forgotten(used, now, self._limits, self._is_busy_of(principal)))
            found = [
                _decoded(Key(principal, session_id), body) for session_id, _, body in rows if session_id not in gone
            ]
            return [session for session in found if session is not None]

        return await self._database.run(read)

    def _forget(self, database: sqlite3.Connection, principal: str, now: float) -> None:
        rows = database.execute("SELECT id, used FROM sessions WHERE principal = ? ORDER BY seq DESC", (principal,))
        mine = [Used(*row) for row in rows]
        gone = [Key(principal, each) for each in forgotten(mine, now, self._limits, self._is_busy_of(principal))]
        others = database.execute("SELECT principal, id, used FROM sessions WHERE principal <> ?", (principal,))
        for other, session_id, used in others.fetchall():
            if is_expired(used, now, self._limits.ttl) and not self._is_busy(Key(other, session_id)):
                gone.append(Key(other, session_id))
        for key in gone:
            database.execute("DELETE FROM sessions WHERE principal = ? AND id = ?", (key.principal, key.id))

    def _is_busy_of(self, principal: str) -> Callable[[str], bool]:
        return lambda session_id: self._is_busy(Key(principal, session_id))


def _found(database: sqlite3.Connection, key: Key) -> NamedSession | None:
    statement = "SELECT body FROM sessions WHERE principal = ? AND id = ?"
    row = database.execute(statement, (key.principal, key.id)).fetchone()
    return None if row is None else _decoded(key, row[0])


def _decoded(key: Key, body: bytes) -> NamedSession | None:
    try:
        return msgspec.json.decode(body, type=NamedSession)
    except (msgspec.MsgspecError, TypeError):
        logger.warning("the named session %s cannot be read; it begins anew", key.id)
        return None


def _write(database: sqlite3.Connection, key: Key, session: NamedSession) -> None:
    statement = "INSERT OR REPLACE INTO sessions SELECT ?, ?, ?, COALESCE(MAX(seq), 0) + 1, ? FROM sessions"
    database.execute(statement, (key.principal, key.id, session.used, msgspec.json.encode(session)))
