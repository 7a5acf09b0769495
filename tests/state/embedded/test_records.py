"""What the database holds of records: any text, and no more requests than are remembered."""

import sqlite3
from contextlib import closing
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.state.contract import Bounds, Earlier
from codex_mcp.state.embedded.store import open_store
from tests.support.state.worlds import OnDisk, claimed, member

words = st.text(st.characters(codec="utf-8"), max_size=20)


@given(st.dictionaries(words, st.binary(max_size=50), max_size=8))
async def test_any_key_and_body_comes_back(records: dict[str, bytes]) -> None:
    world = OnDisk()
    store = await member(world)
    claim = await claimed(store, "t")
    for key, body in records.items():
        await store.records.put(claim, "k", key, body)
        await store.records.bind(claim, key, "name")
        await store.records.once(claim, key, key)
    assert await store.records.find("k") == records
    for key, body in records.items():
        assert await store.records.get("k", key) == body
        assert [binding.team for binding in await store.records.bindings(key)] == [key]
    await world.aclose()


async def test_the_table_of_requests_does_not_grow(tmp_path: Path) -> None:
    store = await open_store(str(tmp_path), Bounds(requests_kept=10))
    await store.leases.join()
    claim = await claimed(store, "t")
    for number in range(50):
        assert await store.records.once(claim, "p", f"{number}") is None
    assert await store.records.once(claim, "p", "49") == Earlier("t")
    await store.aclose()
    with closing(sqlite3.connect(tmp_path / "state.db")) as database:
        assert database.execute("SELECT count(*) FROM request").fetchone() == (10,)
