"""Who may call a node dead, and what holds up a takeover."""

import asyncio
import tempfile

import asyncpg
import pytest

from codex_mcp.base.processes.boots import boot_id
from codex_mcp.base.tasks import TaskSet
from codex_mcp.state.contract import Claim, Fenced
from codex_mcp.state.postgres.store import PostgresStore, open_store
from codex_mcp.state.postgres.view import CLAIMED
from tests.support.state.postgres import shared_postgres
from tests.support.state.worlds import claimed


async def _two(dsn: str, one: str, two: str) -> tuple[PostgresStore, PostgresStore]:
    stores = await open_store(dsn, one), await open_store(dsn, two)
    for store in stores:
        await store.leases.join()
    return stores


async def test_a_takeover_waits_for_a_write_of_the_old_owner_that_has_begun() -> None:
    """Otherwise the write could appear after the new owner has read."""
    dsn, tasks = await shared_postgres().schema(), TaskSet()
    with tempfile.TemporaryDirectory() as folder:
        old, new = await _two(dsn, folder, folder)
        claim = await claimed(old, "t")
        writing = await asyncpg.connect(dsn)
        async with writing.transaction():
            assert await writing.fetchval(CLAIMED, claim.thread, claim.node, claim.token)
            await old.abandon()
            taking = tasks.spawn(new.leases.take(claim.node), name="takeover")
            watching = await asyncpg.connect(dsn)
            while not await watching.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"):
                assert not taking.done(), "it took the thread while the old owner was writing"
            await watching.close()
        await writing.close()
        (taken,) = await taking
        with pytest.raises(Fenced):
            await new.records.put(claim, "k", "t", b"late")
        await new.records.put(taken, "k", "t", b"mine")
        await new.aclose()


@pytest.mark.parametrize("change", ["boot = 'another machine'", "lock = '/missing/lock'"])
async def test_a_node_whose_lock_cannot_be_seen_is_dead_only_when_its_lease_ends(change: str) -> None:
    dsn = await shared_postgres().schema()
    assert boot_id()
    with tempfile.TemporaryDirectory() as folder:
        old, new = await _two(dsn, folder, folder)
        claim = await claimed(old, "t")
        connection = await asyncpg.connect(dsn)
        await connection.execute(f"UPDATE node SET {change} WHERE id = $1", claim.node)
        await connection.close()
        await old.abandon()
        assert await new.leases.take(claim.node) == []
        assert not isinstance(await new.leases.claim("t"), Claim)
        await new.aclose()


async def test_of_two_nodes_that_claim_a_thread_at_once_one_gets_it() -> None:
    dsn = await shared_postgres().schema()
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        store, other = await _two(dsn, one, two)
        claims = await asyncio.gather(*(each.leases.claim(f"thread-{n}") for n in range(20) for each in (store, other)))
        tokens = [claim.token for claim in claims if isinstance(claim, Claim)]
        assert len(tokens) == len(set(tokens)) == 20
        await store.aclose()
        await other.aclose()
