"""`codex-mcp state`: with the state folder, and with PostgreSQL."""

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import msgspec
import pytest

from codex_mcp.state.embedded.store import open_store
from tests.support.servers.commands import command
from tests.support.state.agents import an_agent, record, state_folder_of
from tests.support.state.postgres import Postgres


@pytest.fixture
def postgres() -> Iterator[Postgres]:
    """A database server."""
    server = Postgres()
    server.start()
    yield server
    server.remove()


def ran(home: Path, *words: str, code: int = 0, state: str = "") -> str:
    """What a command that ends with this code says, with this address of the state."""
    home.mkdir(exist_ok=True)
    ended = command(home, *words, **({"CODEX_MCP_STATE": state} if state else {}))
    assert ended.returncode == code, ended.stderr
    return ended.stderr if code else ended.stdout


async def _with_agents(home: Path) -> None:
    folder = state_folder_of(home)
    folder.mkdir(parents=True)
    store = await open_store(str(folder))
    await store.leases.join()
    for number in range(3):
        await store.leases.release(await record(store, an_agent(number, "alice")))
    await store.aclose()


def _agents_in(file: Path) -> list[dict[str, object]]:
    rows = [msgspec.json.decode(line) for line in file.read_bytes().splitlines()[1:-1]]
    return [json.loads(msgspec.convert(row["body"], bytes)) for row in rows if row.get("kind") == "agent"]


async def test_agents_go_from_the_folder_to_postgresql_and_back(tmp_path: Path, postgres: Postgres) -> None:
    home, other = tmp_path / "home", tmp_path / "other"
    await _with_agents(home)
    place = await postgres.schema()
    first, second, third = tmp_path / "first", tmp_path / "second", tmp_path / "third"
    assert "can be used" in ran(home, "state", "check")
    assert "rows of" in ran(home, "state", "export", str(first))
    assert stat.S_IMODE(os.stat(first).st_mode) == 0o600
    assert [agent["host"] for agent in _agents_in(first)] == [os.uname().nodename] * 3
    assert "without tables" in ran(home, "state", "check", state=place)
    assert "tables of version" in ran(home, "state", "migrate", state=place)
    assert "rows of" in ran(home, "state", "import", str(first), state=place)
    assert "already" in ran(home, "state", "import", str(first), state=place, code=1)
    ran(home, "state", "export", str(second), state=place)
    assert second.read_bytes() == first.read_bytes()
    ran(other, "state", "import", str(second))
    ran(other, "state", "export", str(third))
    assert third.read_bytes() == first.read_bytes()
    seen = json.loads(ran(home, "state", "check", "--json", state=place))
    connection = await asyncpg.connect(place)
    assert seen["engine"] == f"PostgreSQL {await connection.fetchval('SHOW server_version')}"
    await connection.close()


async def test_a_file_that_is_there_is_not_replaced_and_a_wrong_one_is_refused(tmp_path: Path) -> None:
    await _with_agents(tmp_path)
    file = tmp_path / "file"
    file.write_text("mine")
    assert "File exists" in ran(tmp_path, "state", "export", str(file), code=1)
    told = ran(tmp_path / "other", "state", "import", str(file), code=2)
    assert "not a file that" in told
    assert file.read_text() == "mine"
    streamed = ran(tmp_path, "state", "export", "-")
    assert streamed.splitlines()[0] == '{"codex_mcp_state":1}'


async def test_a_database_that_cannot_be_used_is_said_with_what_to_do(tmp_path: Path, postgres: Postgres) -> None:
    await postgres.schema()
    missing = postgres.dsn.replace("postgres@", "nobody@")
    told = ran(tmp_path, "state", "check", "--state", missing, code=2)
    assert "correct the address in --state" in told
    report = command(tmp_path, "doctor", "--codex-bin", "./gone", CODEX_MCP_STATE=missing).stdout
    assert "to fix: correct the address in --state" in report
    far = "postgresql://me:secret@db.example/team"
    told = ran(tmp_path, "state", "check", "--state", far, code=2)
    assert "must be encrypted" in told
    assert "secret" not in told
