"""Opens the database: creates it if it is missing, migrates it to our version, sets it aside if it is damaged.

A damaged database does not prevent a start: it is renamed with a warning, and a new one is created. The files that
people read (the registry, the audit, summaries) are separate and stay. Nothing is renamed while another server is alive
on the same folder: it would go on with the old file, and one thread could run twice.
"""

from __future__ import annotations

import contextlib
import logging
import os
import time
from typing import TYPE_CHECKING, Final

from codex_mcp.base.files import make_private, make_private_folder, open_regular
from codex_mcp.state.contract import Unavailable
from codex_mcp.state.embedded.flock import alone_while_opening, has_died, nodes_with_locks
from codex_mcp.state.embedded.schema import MIGRATIONS, TABLES, steps_from
from codex_mcp.state.embedded.transaction import in_transaction

if TYPE_CHECKING:
    import sqlite3
    from types import ModuleType

logger = logging.getLogger(__name__)

NAME: Final = "state.db"
COMPANIONS: Final = ("", "-wal", "-shm")
"""A database in WAL mode has up to three files."""

BUSY_TIMEOUT: Final = 5.0
"""Seconds that another server may hold the database. It writes a few rows at a time."""

CHECKED_BYTES: Final = 64 * 2**20
"""Up to this size (about 0.1 s) the first server of a folder checks the whole file."""


class Damaged(Exception):
    """The file is a database that we cannot use."""


def open_database(state_dir: str) -> sqlite3.Connection:
    """The database of a state folder, ready for use. Only the calling thread may use it."""
    make_private_folder(state_dir)
    path = os.path.join(state_dir, NAME)
    with alone_while_opening(state_dir):
        others_live = any(not has_died(state_dir, node_id) for node_id in nodes_with_locks(state_dir))
        trouble = None
        try:
            return _ready(path, check=not others_live)
        except sqlite().DatabaseError as error:
            if not is_damage(error, path):
                raise
            trouble = str(error)
        except Damaged as error:
            trouble = str(error)
        if others_live:
            raise Unavailable(
                f"The state in {path} is damaged ({trouble}), and other servers use it. "
                "Stop all servers of this folder; the next one to start creates a new database."
            )
        set_aside(path, trouble)
        return _ready(path, check=False)


def sqlite() -> ModuleType:
    """The module. Only a server that opens a database pays for the import."""
    import sqlite3  # noqa: PLC0415

    return sqlite3


def engine_of(path: str) -> tuple[str, int]:
    """Which SQLite it is, and the version of its tables; 0 if there are none. Raises Unavailable."""
    version, module = 0, sqlite()
    if os.path.exists(path):
        try:
            with contextlib.closing(module.connect(f"file:{path}?mode=ro", uri=True, timeout=1.0)) as database:
                (verdict,) = database.execute("PRAGMA quick_check(1)").fetchone()
                (version,) = database.execute("PRAGMA user_version").fetchone()
        except module.Error as error:
            verdict = str(error)
        if verdict != "ok":
            raise Unavailable(
                f"The state in {path} cannot be used: {verdict}. If it is damaged, stop all servers of this folder; "
                "the next one to start sets it aside and creates a new one."
            )
    return f"SQLite {module.sqlite_version}", version


def open_small_database(path: str, *statements: str) -> sqlite3.Connection:
    """As `small_database`. Processes open it one after the other: a change to WAL mode fails while another opens it."""
    folder = os.path.dirname(path)
    make_private_folder(folder)
    with alone_while_opening(folder):
        return small_database(path, *statements)


def small_database(path: str, *statements: str) -> sqlite3.Connection:
    """A private database file in WAL mode, after these statements. Raises OSError, sqlite3.Error."""
    make_private_folder(os.path.dirname(path))
    make_private(path)
    connection = _connected(path)
    try:
        for statement in ("PRAGMA journal_mode = WAL", *statements):
            connection.execute(statement)
    except BaseException:
        connection.close()
        raise
    return connection


def _ready(path: str, *, check: bool) -> sqlite3.Connection:
    if not os.path.isdir(path):
        os.close(open_regular(path, os.O_RDWR | os.O_CREAT))
    connection = _connected(path)
    try:
        if connection.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
            raise Damaged("it cannot be used in WAL mode")
        connection.execute("PRAGMA synchronous = NORMAL")
        if check and os.path.getsize(path) <= CHECKED_BYTES:
            (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            if verdict != "ok":
                raise Damaged(verdict)
        in_transaction(connection, _migrate)
        found = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if missing := TABLES - found:
            raise Damaged(f"it has no table {', '.join(sorted(missing))}")
    except BaseException:
        connection.close()
        raise
    return connection


def _connected(path: str) -> sqlite3.Connection:
    # Without an isolation level the module does not begin transactions by itself.
    connection: sqlite3.Connection = sqlite().connect(path, timeout=BUSY_TIMEOUT, isolation_level=None)
    return connection


def _migrate(connection: sqlite3.Connection) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == 0 and connection.execute("SELECT 1 FROM sqlite_master").fetchone():
        raise Damaged("it holds other data")
    for statement in steps_from(version):
        connection.execute(statement)
    if version < len(MIGRATIONS):
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")


def is_damage(error: Exception, path: str) -> bool:
    name = getattr(error, "sqlite_errorname", "")
    return name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")) or os.path.isdir(path)


def set_aside(path: str, trouble: str) -> None:
    aside = f"{path}.broken-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{os.urandom(2).hex()}"
    for companion in COMPANIONS:
        with contextlib.suppress(FileNotFoundError):
            os.rename(path + companion, aside + companion)
    logger.warning("the state in %s is damaged (%s): it was renamed to %s, and a new one created", path, trouble, aside)
