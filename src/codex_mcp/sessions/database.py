"""The file of named sessions, shared by all servers of one Codex home. Whatever happens to it stops no turn.

A damaged or unreadable file is renamed with a warning, and a new one created. If there can be no file at all, sessions
are kept in memory until the server ends. If the file is removed while it is open, the sessions are written to a new
one.
"""

from __future__ import annotations

import contextlib
import logging
import os
from typing import TYPE_CHECKING, Final, TypeVar

from codex_mcp.state.embedded.flock import alone_while_opening
from codex_mcp.state.embedded.opening import Damaged, is_damage, set_aside, small_database, sqlite
from codex_mcp.state.embedded.small_database import SmallDatabase

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

logger = logging.getLogger(__name__)

T = TypeVar("T")

TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS sessions (principal TEXT, id TEXT, used REAL NOT NULL, seq INTEGER NOT NULL, "
    "body BLOB NOT NULL, PRIMARY KEY (principal, id))"
)
"""`seq` grows with every use: it orders sessions even if the clock is set back."""

IN_MEMORY: Final = "named sessions are kept only until the server ends"


class SessionDatabase(SmallDatabase):
    """Opened by its first job."""

    def __init__(self, path: str) -> None:
        super().__init__(path, lambda error: f"named sessions cannot be written to {path}: {error}", TABLE)
        self._file: tuple[int, int] | None = None
        """Device and inode of the open file; None if sessions are only in memory."""
        self.trouble = ""
        """Why sessions are only in memory."""

    def _done(self, job: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return super()._done(job)
        except sqlite().DatabaseError as error:
            if not is_damage(error, self._path):
                raise
            self._close()
            return super()._done(job)  # which sets the damaged file aside, unless another server has

    def _opened(self) -> sqlite3.Connection:
        rows: list[tuple[object, ...]] = []
        if self._connection is not None and self._file is not None and self._file != _file_at(self._path):
            logger.warning("%s was removed or replaced; its sessions are written to the file of that name", self._path)
            with contextlib.suppress(sqlite().Error):
                rows = self._connection.execute("SELECT * FROM sessions").fetchall()
            self._close()
        if self._connection is None:
            self._open()
            super()._opened().executemany("INSERT OR IGNORE INTO sessions VALUES (?, ?, ?, ?, ?)", rows)
        return super()._opened()

    def _open(self) -> None:
        try:
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            with alone_while_opening(os.path.dirname(self._path)):
                _remove_leftovers(self._path)
                self._connection = _usable(self._path)
                self._file = _file_at(self._path)
                return
        except (sqlite().Error, OSError) as error:
            self.trouble = f"{IN_MEMORY}: {self._path} cannot be used ({error})"
            logger.warning("%s", self.trouble)
        self._file = None
        self._connection = sqlite().connect(":memory:", isolation_level=None)
        super()._opened().execute(TABLE)


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
