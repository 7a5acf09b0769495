"""Every version of the database can be brought to ours."""

import sqlite3
from contextlib import closing

import pytest

from codex_mcp.state.embedded.schema import MIGRATIONS, TABLES, steps_from


@pytest.mark.parametrize("version", range(len(MIGRATIONS) + 1))
def test_every_version_becomes_the_newest(version: int) -> None:
    with closing(sqlite3.connect(":memory:")) as database:
        for migration in MIGRATIONS[:version]:
            for statement in migration:
                database.execute(statement)
        for statement in steps_from(version):
            database.execute(statement)
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        assert tables >= TABLES


def test_a_newer_database_is_left_as_it_is() -> None:
    assert steps_from(len(MIGRATIONS) + 1) == ()


def test_migrations_only_add() -> None:
    words = [statement.split()[0] for migration in MIGRATIONS for statement in migration]
    assert set(words) <= {"CREATE", "INSERT", "ALTER"}
