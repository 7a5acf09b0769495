"""The statements that stores run from now on: counted, and made to fail."""

from __future__ import annotations

import sqlite3
from functools import partial
from typing import Any

import pytest


class Statements(list[str]):
    """In their order."""

    failing: str | None = None

    def fail_at(self, statement: str | None) -> None:
        """Let this statement fail as on a full disk; None: no longer."""
        self.failing = statement

    def run(self, statement: str) -> None:
        """One more."""
        self.append(statement)
        if statement == self.failing:
            raise sqlite3.OperationalError("database or disk is full")


def counted_statements(monkeypatch: pytest.MonkeyPatch) -> Statements:
    """Of every connection that is opened from now on."""
    statements = Statements()

    class Counted(sqlite3.Connection):
        def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
            statements.run(sql)
            return super().execute(sql, parameters)

    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Counted))
    return statements
