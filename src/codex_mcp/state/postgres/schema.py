"""Pure. The tables, created by one migration per version, forward only.

A migration may only add things, so that servers of the version before work with the newer database while they are
upgraded one by one. `meta.oldest` names the oldest version that still works with it.
"""

from __future__ import annotations

from typing import Final

MIGRATIONS: Final[tuple[tuple[str, ...], ...]] = (
    (
        "CREATE TABLE node (id text PRIMARY KEY, pid bigint NOT NULL, host text NOT NULL, boot text NOT NULL,"
        " lock text NOT NULL, address text NOT NULL, since float8 NOT NULL, expires float8 NOT NULL)",
        # The reference makes a claim wait for whoever is just ending this node, and fail then.
        "CREATE TABLE claim (thread text PRIMARY KEY, node text NOT NULL REFERENCES node, token bigint NOT NULL)",
        "CREATE INDEX claims_of_a_node ON claim (node)",
        "CREATE SEQUENCE token",
        'CREATE TABLE record (kind text COLLATE "C", key text COLLATE "C", body bytea NOT NULL,'
        " changed xid8 NOT NULL DEFAULT pg_current_xact_id(), PRIMARY KEY (kind, key))",
        "CREATE INDEX records_by_change ON record (kind, changed)",
        # How many records of a kind were ever deleted.
        'CREATE TABLE gone (kind text COLLATE "C" PRIMARY KEY, number bigint NOT NULL)',
        'CREATE TABLE identity (team text COLLATE "C", name text COLLATE "C", thread text NOT NULL,'
        " PRIMARY KEY (team, name))",
        "CREATE TABLE request (number bigserial PRIMARY KEY, principal text NOT NULL, id text NOT NULL,"
        " thread text NOT NULL, UNIQUE (principal, id))",
        'CREATE TABLE stream (thread text COLLATE "C", name text COLLATE "C", start bigint NOT NULL,'
        " head bigint NOT NULL, PRIMARY KEY (thread, name))",
        'CREATE TABLE journal (thread text COLLATE "C", stream text COLLATE "C", at bigint, token bigint NOT NULL,'
        " body bytea NOT NULL,"
        " PRIMARY KEY (thread, stream, at))",
        'CREATE TABLE name (team text COLLATE "C", name text COLLATE "C", principal text NOT NULL,'
        " since float8 NOT NULL, released float8, PRIMARY KEY (team, name))",
        "CREATE INDEX names_of_a_principal ON name (team, principal) WHERE released IS NULL",
    ),
)

VERSION: Final = len(MIGRATIONS)

OLDEST: Final = 1
"""The oldest version whose servers work with the tables of this one."""

SCHEMA: Final = "codex_mcp"
"""Where the tables are, beside those of other programs, unless the address says `search_path`."""

META: Final = "CREATE TABLE IF NOT EXISTS meta (version int NOT NULL, oldest int NOT NULL, secret text)"


TABLES: Final = ("meta", "node", "claim", "record", "gone", "identity", "name", "request", "stream", "journal")

WITHOUT_RIGHTS: Final = (
    "SELECT coalesce(string_agg(name, ', '), '') FROM unnest($1::text[]) AS name WHERE NOT ("
    + " AND ".join(f"has_table_privilege(name, '{right}')" for right in ("SELECT", "INSERT", "UPDATE", "DELETE"))
    + ")"
)
"""Those of these tables that the role may not read and write."""


def steps_from(version: int) -> tuple[str, ...]:
    """The statements that migrate a database of this version to ours; none if it is newer."""
    return tuple(statement for migration in MIGRATIONS[version:] for statement in migration)
