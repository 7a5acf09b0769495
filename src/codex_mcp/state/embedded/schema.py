"""Pure. The tables, created by one migration per version, forward only.

A migration may only add things, so that an older server still works with a newer database while the servers of a folder
are upgraded one by one.
"""

from __future__ import annotations

from typing import Final

MIGRATIONS: Final[tuple[tuple[str, ...], ...]] = (
    (
        "CREATE TABLE node (id TEXT PRIMARY KEY, pid INTEGER NOT NULL, host TEXT NOT NULL, address TEXT NOT NULL,"
        " since REAL NOT NULL, expires REAL NOT NULL) WITHOUT ROWID",
        "CREATE TABLE claim (thread TEXT PRIMARY KEY, node TEXT NOT NULL, token INTEGER NOT NULL) WITHOUT ROWID",
        "CREATE INDEX claims_of_a_node ON claim (node)",
        # One counter for all threads: later tokens are greater even after a released claim was deleted.
        "CREATE TABLE token (last INTEGER NOT NULL)",
        "INSERT INTO token VALUES (0)",
        "CREATE TABLE record (kind TEXT, key TEXT, body BLOB NOT NULL, PRIMARY KEY (kind, key))",
        "CREATE TABLE identity (team TEXT, name TEXT, thread TEXT NOT NULL, PRIMARY KEY (team, name)) WITHOUT ROWID",
        "CREATE TABLE request (number INTEGER PRIMARY KEY, principal TEXT NOT NULL, id TEXT NOT NULL,"
        " thread TEXT NOT NULL, UNIQUE (principal, id))",
        "CREATE TABLE stream (thread TEXT, name TEXT, start INTEGER NOT NULL, head INTEGER NOT NULL,"
        " PRIMARY KEY (thread, name)) WITHOUT ROWID",
        "CREATE TABLE journal (thread TEXT, stream TEXT, at INTEGER, token INTEGER NOT NULL, body BLOB NOT NULL,"
        " PRIMARY KEY (thread, stream, at))",
    ),
    (
        "CREATE TABLE name (team TEXT, name TEXT, principal TEXT NOT NULL, since REAL NOT NULL, released REAL,"
        " PRIMARY KEY (team, name)) WITHOUT ROWID",
    ),
)

TABLES: Final = frozenset({"node", "claim", "token", "record", "identity", "request", "stream", "journal", "name"})


def steps_from(version: int) -> tuple[str, ...]:
    """The statements that migrate a database of this version to ours; none if it is newer."""
    return tuple(statement for migration in MIGRATIONS[version:] for statement in migration)
