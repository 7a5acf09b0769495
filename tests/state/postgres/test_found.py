"""A look at all records of a kind reads what has changed, and misses nothing."""

import asyncpg

from codex_mcp.state.postgres.found import CHANGED
from codex_mcp.state.postgres.store import PostgresStore
from tests.support.state.postgres import shared_postgres
from tests.support.state.worlds import OnPostgres, claimed, member, opened


async def _read_since(dsn: str, first: str) -> list[str]:
    connection = await asyncpg.connect(dsn)
    try:
        return [row["key"] for row in await connection.fetch(CHANGED, "k", first) if row["key"]]
    finally:
        await connection.close()


async def test_what_was_seen_is_not_read_again() -> None:
    async with opened(OnPostgres) as world:
        assert isinstance(world, OnPostgres)
        store, other = await member(world), await world.open()
        claim = await claimed(store, "t")
        for key in "abc":
            await store.records.put(claim, "k", key, b"1")
        assert await other.records.find("k") == dict.fromkeys("abc", b"1")
        assert isinstance(other, PostgresStore)
        seen = other.records._found["k"]._first
        assert await _read_since(world.dsn, seen) == []
        await store.records.put(claim, "k", "b", b"2")
        assert await _read_since(world.dsn, seen) == ["b"]
        assert await other.records.find("k") == {"a": b"1", "b": b"2", "c": b"1"}


async def test_a_write_that_was_under_way_during_a_look_is_seen_by_the_next_one() -> None:
    """Its transaction is older than one that was seen already."""
    async with opened(OnPostgres) as world:
        assert isinstance(world, OnPostgres)
        store = await member(world)
        claim = await claimed(store, "t")
        slow = await asyncpg.connect(world.dsn)
        async with slow.transaction():
            await slow.execute("INSERT INTO record (kind, key, body) VALUES ('k', 'slow', 'x')")
            await store.records.put(claim, "k", "quick", b"1")
            assert await store.records.find("k") == {"quick": b"1"}
        await slow.close()
        assert await store.records.find("k") == {"quick": b"1", "slow": b"x"}


async def test_what_others_delete_and_a_database_that_was_set_back_are_noticed() -> None:
    async with opened(OnPostgres) as world:
        assert isinstance(world, OnPostgres)
        store, other = await member(world), await world.open()
        claim = await claimed(store, "t")
        for key in "ab":
            await store.records.put(claim, "k", key, b"1")
        assert await other.records.find("k") == {"a": b"1", "b": b"1"}
        await store.records.delete(claim, "k", "a")
        assert await other.records.find("k") == {"b": b"1"}
        assert isinstance(other, PostgresStore)
        other.records._found["k"]._first = "9000000000"
        connection = await asyncpg.connect(world.dsn)
        await connection.execute("UPDATE record SET body = 'old', changed = '3'")
        await connection.close()
        assert await other.records.find("k") == {"b": b"old"}


async def test_a_store_of_a_database_without_records_finds_none() -> None:
    await shared_postgres().schema()
    async with opened(OnPostgres) as world:
        assert await (await world.open()).records.find("k") == {}
