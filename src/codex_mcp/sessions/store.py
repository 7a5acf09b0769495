"""Named sessions in a small database beside Codex's own files, shared by all servers of one Codex home.

A damaged or unreadable file is renamed with a warning, and a new one created. If there can be no file at all, sessions
are kept in memory until the server ends. Neither stops a turn. If the file is removed while it is open, the sessions
are written to a new one.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec
from msgspec.structs import replace

from codex_mcp.sessions.session import Key, NamedSession, SessionLimits, Used, after_turn, forgotten, is_expired
from codex_mcp.state.contract import Unavailable
from codex_mcp.state.embedded.flock import alone_while_opening
from codex_mcp.state.embedded.opening import Damaged, is_damage, set_aside, small_database, sqlite
from codex_mcp.state.embedded.transaction import in_transaction
from codex_mcp.state.embedded.worker import Worker

if TYPE_CHECKING:
    import sqlite3

logger = logging.getLogger(__name__)

T = TypeVar("T")

DATABASE: Final = os.path.join("codex-mcp", "sessions.db")

TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS sessions (principal TEXT, id TEXT, used REAL NOT NULL, seq INTEGER NOT NULL, "
    "body BLOB NOT NULL, PRIMARY KEY (principal, id))"
)
"""`seq` grows with every use: it orders sessions even if the clock is set back."""

IN_MEMORY: Final = "named sessions are kept only until the server ends"


class SessionStore:
    def __init__(self, codex_home: str, limits: SessionLimits, is_busy: Callable[[Key], bool]) -> None:
        path = self._path = os.path.join(codex_home, DATABASE)
        self._limits = limits
        self._is_busy = is_busy
        self._worker = Worker(lambda error: Unavailable(f"named sessions cannot be written to {path}: {error}"))
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        """Device and inode of the open file; None if sessions are only in memory."""
        self.trouble = ""
        """Why sessions are only in memory."""

    async def get(self, key: Key) -> NamedSession | None:
        return await self._run(lambda database: _found(database, key))

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

        return await self._run(lambda database: in_transaction(database, write))

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

        return await self._run(lambda database: in_transaction(database, write))

    async def rename_thread(self, key: Key, before: str, now: str) -> None:
        """The thread of a session has received its own id."""

        def write(database: sqlite3.Connection) -> None:
            session = _found(database, key)
            if session is not None and session.thread == before:
                _write(database, key, replace(session, thread=now))

        await self._run(lambda database: in_transaction(database, write))

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

        return await self._run(read)

    async def aclose(self) -> None:
        await self._worker.aclose(self._close)

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

    async def _run(self, job: Callable[[sqlite3.Connection], T]) -> T:
        return await self._worker.run(lambda: self._done(job))

    def _done(self, job: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return job(self._opened())
        except sqlite().DatabaseError as error:
            if not is_damage(error, self._path):
                raise
            self._close()
            return job(self._opened())  # which sets the damaged file aside, unless another server has

    def _opened(self) -> sqlite3.Connection:
        rows: list[tuple[object, ...]] = []
        if self._connection is not None and self._file is not None and self._file != _file_at(self._path):
            logger.warning("%s was removed or replaced; its sessions are written to the file of that name", self._path)
            with contextlib.suppress(sqlite().Error):
                rows = self._connection.execute("SELECT * FROM sessions").fetchall()
            self._close()
        if self._connection is None:
            self._connection = self._open()
            self._connection.executemany("INSERT OR IGNORE INTO sessions VALUES (?, ?, ?, ?, ?)", rows)
        return self._connection

    def _open(self) -> sqlite3.Connection:
        try:
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            with alone_while_opening(os.path.dirname(self._path)):
                _remove_leftovers(self._path)
                opened = _usable(self._path)
                self._file = _file_at(self._path)
                return opened
        except (sqlite().Error, OSError) as error:
            self.trouble = f"{IN_MEMORY}: {self._path} cannot be used ({error})"
            logger.warning("%s", self.trouble)
        self._file = None
        database: sqlite3.Connection = sqlite().connect(":memory:", isolation_level=None)
        database.execute(TABLE)
        return database

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _file_at(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _remove_leftovers(path: str) -> None:
    """Remove the log of a database that was removed: a new one must not use it."""
    if not os.path.lexists(path):
        for companion in ("-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path + companion)


def _usable(path: str) -> sqlite3.Connection:
    try:
        return _checked(path)
    except (sqlite().Error, OSError, Damaged) as error:
        unreadable = isinstance(error, PermissionError | IsADirectoryError | Damaged) or os.path.isdir(path)
        if not os.path.exists(path) or not (unreadable or is_damage(error, path)):
            raise
        set_aside(path, str(error))
    return _checked(path)


def _checked(path: str) -> sqlite3.Connection:
    database = small_database(path, TABLE)
    try:
        (verdict,) = database.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise Damaged(verdict)
        columns = {row[1] for row in database.execute("PRAGMA table_info(sessions)")}
        if columns != {"principal", "id", "used", "seq", "body"}:
            raise Damaged("it holds other data")
    except BaseException:
        database.close()
        raise
    return database


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
