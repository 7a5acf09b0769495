"""Jobs in transactions, off the event loop."""

import asyncio
import shutil
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from codex_mcp.state.contract import Unavailable
from codex_mcp.state.embedded import opening
from codex_mcp.state.embedded.database import Database
from tests.support.patience import PATIENCE


async def opened(folder: Path) -> Database:
    database = Database(str(folder))
    await database.open()
    return database


async def test_what_raises_writes_nothing(tmp_path: Path) -> None:
    database = await opened(tmp_path)

    def write_then_fail(db: sqlite3.Connection) -> None:
        db.execute("INSERT INTO record VALUES ('k', 'a', 'x')")
        raise KeyError("k")

    with pytest.raises(KeyError):
        await database.write(write_then_fail)
    assert await database.read(lambda db: db.execute("SELECT * FROM record").fetchall()) == []
    await database.aclose()


async def test_the_event_loop_goes_on_while_the_disk_is_waited_for(tmp_path: Path) -> None:
    database, gate = await opened(tmp_path), threading.Event()
    job = asyncio.gather(database.write(lambda db: gate.wait(PATIENCE)))
    await asyncio.sleep(0)
    gate.set()  # only a loop that runs can do this
    assert (await job)[0]
    await database.aclose()


async def test_a_database_that_another_process_holds_for_too_long_is_unavailable(tmp_path: Path) -> None:
    database = await opened(tmp_path)
    await database.read(lambda db: db.execute("PRAGMA busy_timeout = 1").fetchall())
    other = sqlite3.connect(tmp_path / "state.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Unavailable, match="another process keeps its database locked"):
        await database.write(lambda db: db.execute("DELETE FROM record").fetchall())
    other.close()
    await database.write(lambda db: db.execute("DELETE FROM record").fetchall())
    await database.aclose()


async def test_a_database_that_was_removed_or_replaced_is_used_no_longer(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    database = await opened(folder)
    shutil.rmtree(folder)
    with pytest.raises(Unavailable, match="removed or replaced"):
        await database.read(lambda db: db.execute("SELECT * FROM record").fetchall())
    another = await opened(folder)
    with pytest.raises(Unavailable, match="Start the server again"):
        await database.write(lambda db: db.execute("DELETE FROM record").fetchall())
    await database.aclose()
    await another.write(lambda db: db.execute("DELETE FROM record").fetchall())
    await another.aclose()


async def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Unavailable, match="cannot be used"):
        await opened(tmp_path / "file")


async def test_closing_finishes_what_was_asked_and_takes_nothing_more(tmp_path: Path) -> None:
    database = await opened(tmp_path)
    asked = asyncio.gather(database.write(lambda db: db.execute("SELECT 1").fetchone()))
    await asyncio.sleep(0)
    await database.aclose()
    await database.aclose()
    assert (await asked)[0] == (1,)
    with pytest.raises(Unavailable, match="closed"):
        await database.read(lambda db: None)


def test_sqlite_is_loaded_only_by_opening() -> None:
    program = "import sys, codex_mcp.state.embedded.store as _; sys.exit('sqlite3' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


async def test_while_another_process_keeps_it_locked_only_the_first_write_waits_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "BUSY_TIMEOUT", 0.2)
    database = await opened(tmp_path)

    def put(db: sqlite3.Connection) -> None:
        db.execute("INSERT OR REPLACE INTO record VALUES ('k', 'a', 'x')")

    async def patience() -> int:
        """Milliseconds; reading is possible all the while."""
        found: int = await database.read(lambda db: db.execute("PRAGMA busy_timeout").fetchone()[0])
        return found

    await database.write(put)
    assert await patience() == 200
    other = sqlite3.connect(tmp_path / "state.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    for _ in range(3):
        with pytest.raises(Unavailable, match="another process keeps its database locked"):
            await database.write(put)
        assert await patience() == 50
    other.execute("ROLLBACK")
    await database.write(put)
    assert await patience() == 200
    other.close()
    await database.aclose()
