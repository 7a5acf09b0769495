"""The database of the mail, `mail.db` in the state folder: what was sent but is not certain, what was delivered, and
the turns that it began.

All processes of a state folder share it. Every change is on the disk before the caller goes on.
"""

from __future__ import annotations

import os
from typing import Final

from codex_mcp.state.embedded.small_database import SmallDatabase

NAME: Final = "mail.db"

TABLES: Final = (
    "PRAGMA synchronous = FULL",
    "CREATE TABLE IF NOT EXISTS outgoing (id TEXT PRIMARY KEY, agent TEXT NOT NULL, team TEXT NOT NULL,"
    " record TEXT NOT NULL, stage TEXT NOT NULL, is_rechecked INTEGER NOT NULL, checks INTEGER NOT NULL,"
    " writes INTEGER NOT NULL, due REAL NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS delivery (agent TEXT, team TEXT, id TEXT, stage TEXT NOT NULL, offers INTEGER NOT NULL,"
    " PRIMARY KEY (team, agent, id)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS delivered (agent TEXT, team TEXT, id TEXT, stage TEXT NOT NULL, at REAL NOT NULL,"
    " PRIMARY KEY (team, agent, id, stage)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS traffic (at REAL NOT NULL, agent TEXT NOT NULL, team TEXT NOT NULL,"
    " senders TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS notices (agent TEXT, team TEXT, at REAL NOT NULL, PRIMARY KEY (team, agent))"
    " WITHOUT ROWID",
)


def mail_database(state_dir: str) -> SmallDatabase:
    path = os.path.join(state_dir, NAME)
    return SmallDatabase(
        path,
        lambda error: (
            f"The mail's database {path} cannot be used: {error}. Check that folder, its disk and its permissions."
        ),
        *TABLES,
    )
