"""The database behind a store: what is wrong with it, slow, gone or back again."""

import asyncio
import signal
from collections.abc import Iterator
from urllib.parse import urlsplit

import asyncpg
import pytest

from codex_mcp.base.errors import Refused
from codex_mcp.state.contract import Unavailable
from codex_mcp.state.postgres import engine as engines
from codex_mcp.state.postgres import schema, silence
from codex_mcp.state.postgres.engine import Engine
from tests.support.patience import PATIENCE
from tests.support.state.postgres import Postgres, shared_postgres


@pytest.fixture
def mine() -> Iterator[Postgres]:
    """A server that a test may stop."""
    server = Postgres()
    server.start()
    yield server
    server.signal_all(signal.SIGCONT)
    server.remove()


async def _refusal(dsn: str) -> str:
    engine = Engine(dsn)
    with pytest.raises((Refused, Unavailable)) as refused:
        await engine.open()
    return str(refused.value)


async def _run(dsn: str, *statements: str) -> None:
    connection = await asyncpg.connect(dsn)
    for statement in statements:
        await connection.execute(statement)
    await connection.close()


async def _opened(dsn: str) -> Engine:
    engine = Engine(dsn)
    await engine.open()
    return engine


async def _wait_until_usable(engine: Engine) -> None:
    for way in (engine.renew, engine.run, engine.write):
        while True:
            try:
                assert await way(lambda one: one.fetchval("SELECT 1")) == 1
            except Unavailable:
                continue
            break


async def _is_unavailable(engine: Engine) -> None:
    for way in (engine.run, engine.write, engine.renew):
        with pytest.raises(Unavailable, match="Try again"):
            await way(lambda one: one.fetchval("SELECT 1"))


async def test_servers_that_start_at_once_make_the_tables_once() -> None:
    dsn = await shared_postgres().schema()
    engines = await asyncio.gather(*(_opened(dsn) for _ in range(3)))
    for engine in engines:
        assert await engine.run(lambda one: one.fetchval("SELECT count(*) FROM meta")) == 1
        await engine.aclose()


async def test_a_database_of_a_newer_version_is_used_as_long_as_it_allows_ours() -> None:
    dsn = await shared_postgres().schema()
    await (await _opened(dsn)).aclose()
    await _run(dsn, f"UPDATE meta SET version = {schema.VERSION + 1}")
    await (await _opened(dsn)).aclose()
    await _run(dsn, f"UPDATE meta SET oldest = {schema.VERSION + 1}")
    assert "codex-mcp update" in await _refusal(dsn)


async def test_what_is_wrong_is_said_with_what_to_do() -> None:
    dsn = await shared_postgres().schema()
    here = urlsplit(dsn).netloc.rpartition("@")[2]
    role = urlsplit(dsn).query.removeprefix("search_path=")
    await _run(dsn, f"CREATE ROLE {role} LOGIN")
    assert "correct the address" in await _refusal(f"postgresql://missing@{here}/postgres")
    assert "correct the address" in await _refusal(f"postgresql://postgres@{here}/missing")
    assert "give its role the right" in await _refusal(dsn.replace("postgres@", f"{role}@"))
    assert "read-only" in await _refusal(f"{dsn}&default_transaction_read_only=on")
    assert "must be encrypted" in await _refusal("postgresql://me@db.example/team")
    assert "Try again" in await _refusal("postgresql://postgres@127.0.0.1:1/postgres")


async def test_a_renewal_does_not_wait_for_the_disk() -> None:
    engine = await _opened(await shared_postgres().schema())
    asked = "SHOW synchronous_commit"
    assert await engine.renew(lambda one: one.fetchval(asked)) == "off"
    assert await engine.run(lambda one: one.fetchval(asked)) == "on"
    await engine.aclose()


async def test_a_database_that_hangs_or_ends_is_unavailable_until_it_is_back(
    mine: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = await _opened(await mine.schema())
    await _wait_until_usable(engine)
    await engine.aclose()
    monkeypatch.setattr(engines, "STATEMENT_TIMEOUT", 0.5)
    monkeypatch.setattr(engines, "CONNECT_TIMEOUT", 0.5)
    engine = Engine(await mine.schema())
    await engine.open()
    await _wait_until_usable(engine)
    mine.signal_all(signal.SIGSTOP)
    await _is_unavailable(engine)
    mine.signal_all(signal.SIGCONT)
    await _wait_until_usable(engine)
    mine.stop()
    await _is_unavailable(engine)
    mine.start()
    await _wait_until_usable(engine)
    await engine.aclose()


async def test_after_a_silence_only_renewals_ask_until_one_is_answered(
    mine: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    async def ask(connection: asyncpg.Connection) -> object:
        asked.append(connection)
        return await connection.fetchval("SELECT 1")

    dsn = await mine.schema()
    await (await _opened(dsn)).aclose()
    for limit in ("RENEWAL_TIMEOUT", "STATEMENT_TIMEOUT", "CONNECT_TIMEOUT"):
        monkeypatch.setattr(engines, limit, 0.5)
    engine = Engine(dsn)
    await engine.open()
    await _wait_until_usable(engine)
    mine.signal_all(signal.SIGSTOP)
    for way in (engine.renew, engine.run, engine.write, engine.look):
        with pytest.raises(Unavailable, match="does not answer"):
            await way(ask)
    assert len(asked) == 1
    mine.signal_all(signal.SIGCONT)
    await _wait_until_usable(engine)
    assert await engine.run(ask) == 1
    await engine.aclose()


async def test_who_waits_when_the_database_goes_silent_is_released_long_before_the_time_for_a_statement_ends(
    mine: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "STATEMENT_TIMEOUT", 1000.0)
    engine = await _opened(await mine.schema())
    await _wait_until_usable(engine)
    mine.signal_all(signal.SIGSTOP)
    asked = [way(lambda one: one.fetchval("SELECT 1")) for way in (engine.run, engine.write, engine.look) * 4]
    async with asyncio.timeout(PATIENCE):
        for told in await asyncio.gather(*asked, return_exceptions=True):
            assert isinstance(told, Unavailable)
            assert "Try again" in str(told)
    mine.signal_all(signal.SIGCONT)
    await _wait_until_usable(engine)
    await engine.aclose()


async def test_who_waits_for_something_that_takes_long_is_not_disturbed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(silence, "LONG", 0.02)
    engine = await _opened(await shared_postgres().schema())
    await _wait_until_usable(engine)
    assert await engine.run(lambda one: one.fetchval("SELECT 1 FROM pg_sleep(0.5)")) == 1
    await engine.aclose()


async def test_a_connection_is_left_clean_without_a_round_trip() -> None:
    engine = await _opened(await shared_postgres().schema())
    assert await engine.run(lambda one: one.fetchval("SELECT pg_backend_pid()"))
    asked = "SELECT query FROM pg_stat_activity WHERE pid = $1"
    pid = await engine.run(lambda one: one.fetchval("SELECT pg_backend_pid()"))
    other = await asyncpg.connect(engine._dsn)
    assert await other.fetchval(asked, pid) == "SELECT pg_backend_pid()"
    await other.close()

    async def fails(connection: asyncpg.Connection) -> None:
        await connection.execute("CREATE TABLE mine (x int)")
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await engine.write(fails)
    assert await engine.run(lambda one: one.fetchval("SELECT to_regclass('mine') IS NULL"))
    await engine.aclose()


async def test_a_closed_engine_says_that_the_server_is_ending() -> None:
    engine = await _opened(await shared_postgres().schema())
    await engine.aclose()
    await engine.aclose()
    with pytest.raises(Unavailable, match="the server is ending"):
        await engine.run(lambda one: one.fetchval("SELECT 1"))
