"""A small database writes all of a job or nothing, in the order of the calls, and explains what is wrong."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from codex_mcp.state.contract import Unavailable
from codex_mcp.state.embedded.small_database import SmallDatabase

TABLE = "CREATE TABLE IF NOT EXISTS words (word TEXT PRIMARY KEY)"


def database(folder: Path) -> SmallDatabase:
    path = str(folder / "words.db")
    return SmallDatabase(path, lambda error: f"cannot use the words: {error}; write them down", TABLE)


def add(*words: str) -> Callable[[sqlite3.Connection], None]:
    def job(connection: sqlite3.Connection) -> None:
        for word in words:
            connection.execute("INSERT INTO words VALUES (?)", (word,))

    return job


def listed(connection: sqlite3.Connection) -> list[str]:
    return [word for (word,) in connection.execute("SELECT word FROM words ORDER BY word")]


async def test_a_job_that_fails_writes_nothing_and_its_error_is_explained(tmp_path: Path) -> None:
    words = database(tmp_path)
    await words.open()
    await words.write(add("one"))

    with pytest.raises(Unavailable, match=r"cannot use the words: UNIQUE .*; write them down"):
        await words.write(add("two", "one"))

    assert await words.run(listed) == ["one"]
    await words.aclose()


async def test_jobs_run_in_the_order_of_the_calls_and_before_the_end(tmp_path: Path) -> None:
    words = database(tmp_path)
    await words.open()
    words.write(add("a"))
    before = words.run(listed)
    words.write(add("b"))
    after = words.run(listed)
    await words.aclose()

    assert (await before, await after) == (["a"], ["a", "b"])
    again = database(tmp_path)
    await again.open()
    assert await again.run(listed) == ["a", "b"]
    await again.aclose()


async def test_a_file_that_cannot_be_opened_leaves_nothing_to_close(tmp_path: Path) -> None:
    (tmp_path / "words.db").mkdir()

    with pytest.raises(Unavailable, match=r"cannot use the words: .*; write them down"):
        await database(tmp_path).open()
