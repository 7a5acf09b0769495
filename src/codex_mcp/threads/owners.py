"""To whom a thread belongs. What one principal started is not there for another: not to be found, not to be guessed.

A server without tokens has one principal, and every thread on disk that nobody else owns is its. Where there are
tokens, whose thread it is must outlast the server: it is kept in a small database beside Codex's own files, at which
every HTTP server looks.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Final, Protocol

from codex_mcp.base.errors import Refused
from codex_mcp.base.files import make_private, make_private_folder

if TYPE_CHECKING:
    import sqlite3

LOCAL: Final = "local"
"""The principal of whoever started us, or reaches us without having to say who it is."""

DATABASE: Final = os.path.join("codex-mcp", "owners.db")

BUSY_TIMEOUT: Final = 5.0
"""Seconds that another server of the same home may hold the database. It writes one row at a time."""


class Owners(Protocol):
    """Who owns what."""

    def owner(self, thread_id: str) -> str:
        """The principal that a thread belongs to."""

    def record(self, thread_id: str, principal: str) -> None:
        """This principal has started it."""


class EverybodyIsLocal:
    """For a server that has only one principal."""

    def owner(self, thread_id: str) -> str:
        """Always the same."""
        return LOCAL

    def record(self, thread_id: str, principal: str) -> None:
        """Nothing to remember."""


class RecordedOwners:
    """Owners in a database; threads that are not in it belong to the local principal. Raises Refused at first."""

    def __init__(self, codex_home: str) -> None:
        path = os.path.join(codex_home, DATABASE)
        # Loaded here, since only a server with tokens needs it, and every server pays for what is imported above.
        sqlite = importlib.import_module("sqlite3")
        try:
            self._database = _opened(path, sqlite.Connection)
        except (OSError, sqlite.Error) as exc:
            raise Refused(
                f"cannot read whose thread is whose in {path}: {exc}; fix it or restore it: without it, "
                "threads that are there already would be found by nobody"
            ) from exc

    def owner(self, thread_id: str) -> str:
        """Look it up."""
        row = self._database.execute("SELECT principal FROM owners WHERE thread = ?", (thread_id,)).fetchone()
        return LOCAL if row is None else str(row[0])

    def record(self, thread_id: str, principal: str) -> None:
        """Remember it, for good."""
        if principal != LOCAL:  # to whom everything belongs that is not in it
            self._database.execute("INSERT OR IGNORE INTO owners VALUES (?, ?)", (thread_id, principal))

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()


def _opened(path: str, sqlite: type[sqlite3.Connection]) -> sqlite3.Connection:
    make_private_folder(os.path.dirname(path))
    make_private(path)
    database = sqlite(path, timeout=BUSY_TIMEOUT, isolation_level=None)
    try:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE IF NOT EXISTS owners (thread TEXT PRIMARY KEY, principal TEXT NOT NULL)")
    except BaseException:
        database.close()
        raise
    return database
