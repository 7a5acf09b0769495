"""One transaction: all of its writes or none, and the error that ended it."""

import sqlite3
from collections.abc import Iterator

import pytest

from codex_mcp.state.embedded.transaction import in_transaction


@pytest.fixture
def database() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("CREATE TABLE words (word TEXT PRIMARY KEY)")
    yield connection
    connection.close()


def words(database: sqlite3.Connection) -> list[str]:
    return [word for (word,) in database.execute("SELECT word FROM words")]


def test_the_result_of_the_job_comes_back_after_its_writes(database: sqlite3.Connection) -> None:
    assert in_transaction(database, lambda db: db.execute("INSERT INTO words VALUES ('a')").rowcount) == 1
    assert words(database) == ["a"]
    assert not database.in_transaction


def test_a_job_that_fails_writes_nothing(database: sqlite3.Connection) -> None:
    def job(db: sqlite3.Connection) -> None:
        db.execute("INSERT INTO words VALUES ('a')")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        in_transaction(database, job)
    assert words(database) == []
    assert not database.in_transaction


def test_an_error_that_has_ended_the_transaction_is_the_one_that_is_raised(database: sqlite3.Connection) -> None:
    def job(db: sqlite3.Connection) -> None:
        db.execute("INSERT INTO words VALUES ('a')")
        db.execute("INSERT OR ROLLBACK INTO words VALUES ('a')")

    with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
        in_transaction(database, job)
    assert words(database) == []


def test_an_error_of_the_rollback_does_not_hide_the_first_one() -> None:
    class Unwilling(sqlite3.Connection):
        def execute(self, sql: str, *rest: object) -> sqlite3.Cursor:
            if sql == "ROLLBACK":
                raise sqlite3.OperationalError("disk I/O error")
            return super().execute(sql)

    def job(db: sqlite3.Connection) -> None:
        raise ValueError("the first")

    connection = sqlite3.connect(":memory:", isolation_level=None, factory=Unwilling)
    with pytest.raises(ValueError, match="the first"):
        in_transaction(connection, job)
    connection.close()
