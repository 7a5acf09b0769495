"""A database that is missing, damaged, foreign, old or new: a server starts on every one of them."""

import logging
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from codex_mcp.state.contract import Unavailable
from codex_mcp.state.embedded.flock import NodeLock
from codex_mcp.state.embedded.opening import open_database
from codex_mcp.state.embedded.schema import MIGRATIONS


def fresh(folder: Path, entries: int = 0) -> Path:
    with closing(open_database(str(folder))) as database:
        rows = [("t", "s", n, 1, bytes(500)) for n in range(entries)]
        database.executemany("INSERT INTO journal VALUES (?, ?, ?, ?, ?)", rows)
    return folder / "state.db"


def kept_aside(folder: Path) -> list[Path]:
    return sorted(
        path for path in folder.iterdir() if ".broken-" in path.name and not path.name.endswith(("-wal", "-shm"))
    )


def test_a_new_database_is_private_and_has_our_version(tmp_path: Path) -> None:
    folder = tmp_path / "not" / "there"
    with closing(open_database(str(folder))) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert database.execute("PRAGMA synchronous").fetchone() == (1,)
        database.execute("INSERT INTO record VALUES ('k', 'a', 'x')")
        modes = {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}
        assert modes == dict.fromkeys(["opening.lock", "state.db", "state.db-shm", "state.db-wal"], 0o600)
        assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("damage", ["text", "page", "tables", "foreign", "folder"])
def test_a_damaged_database_is_set_aside_and_the_other_files_stay(
    tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = fresh(tmp_path, entries=200)
    (tmp_path / "registry.json").write_text("{}")
    match damage:
        case "text":
            path.write_text("this is no database, but long enough to be one" * 100)
        case "page":
            data = path.read_bytes()
            path.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))
        case "tables":
            with closing(sqlite3.connect(path)) as database:
                database.execute("DROP TABLE claim")
        case "foreign":
            path.unlink()
            with closing(sqlite3.connect(path)) as database:
                database.execute("CREATE TABLE recipes (cake)")
        case _:
            path.unlink()
            path.mkdir()
    with caplog.at_level(logging.WARNING), closing(open_database(str(tmp_path))) as database:
        assert database.execute("SELECT count(*) FROM journal").fetchone() == (0,)
    assert len(kept_aside(tmp_path)) == 1
    assert (tmp_path / "registry.json").read_text() == "{}"
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert str(kept_aside(tmp_path)[0]) in caplog.text


def test_an_empty_file_becomes_a_database(tmp_path: Path) -> None:
    (tmp_path / "state.db").touch()
    fresh(tmp_path)
    assert kept_aside(tmp_path) == []


def test_a_damaged_database_that_others_use_is_left_where_it_is(tmp_path: Path) -> None:
    path = fresh(tmp_path)
    path.write_text("this is no database, but long enough to be one" * 100)
    lock = NodeLock(str(tmp_path), "other")
    with pytest.raises(Unavailable, match="Stop all servers"):
        open_database(str(tmp_path))
    lock.drop()
    assert kept_aside(tmp_path) == []
    open_database(str(tmp_path)).close()
    assert len(kept_aside(tmp_path)) == 1


def test_a_database_of_a_newer_version_is_used_as_it_is(tmp_path: Path) -> None:
    path = fresh(tmp_path)
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE mail (id)")
        database.execute("PRAGMA user_version = 99")
    with closing(open_database(str(tmp_path))) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (99,)
    assert kept_aside(tmp_path) == []


def test_a_damaged_wal_loses_what_it_held_and_no_more(tmp_path: Path) -> None:
    fresh(tmp_path)
    (tmp_path / "state.db-wal").write_bytes(b"\xff" * 5000)
    fresh(tmp_path)
    assert kept_aside(tmp_path) == []
