"""What the database holds of records: any text, and no more requests than are remembered."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.state.contract import Bounds, Earlier, Unavailable
from codex_mcp.state.embedded.store import open_store
from tests.support.state.statements import counted_statements
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


async def test_rows_are_read_again_only_after_another_process_has_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = await open_store(str(tmp_path))
    await other.leases.join()
    statements = counted_statements(monkeypatch)
    store = await open_store(str(tmp_path))
    await store.leases.join()
    claim = await claimed(store, "t")
    for key in "cab":
        await store.records.put(claim, "k", key, b"old")
    assert list(await store.records.find("k")) == ["a", "b", "c"]
    statements.clear()
    await store.records.put(claim, "k", "0", b"new")
    await store.records.put(claim, "k", "b", b"new")
    await store.records.delete(claim, "k", "c")
    expected = {"0": b"new", "a": b"old", "b": b"new"}
    assert list((await store.records.find("k")).items()) == list(expected.items())
    assert [each for each in statements if "SELECT key, body" in each] == []
    await other.records.put(await claimed(other, "u"), "k", "d", b"theirs")
    assert await store.records.find("k") == {**expected, "d": b"theirs"}
    assert len([each for each in statements if "SELECT key, body" in each]) == 1
    await store.aclose()
    await other.aclose()


async def test_a_write_that_failed_is_not_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    statements = counted_statements(monkeypatch)
    store = await open_store(str(tmp_path))
    await store.leases.join()
    claim = await claimed(store, "t")
    assert await store.records.find("k") == {}
    statements.fail_at("COMMIT")
    with pytest.raises(Unavailable):
        await store.records.put(claim, "k", "a", b"x")
    statements.fail_at(None)
    assert await store.records.find("k") == {}
    await store.aclose()


@pytest.mark.parametrize("number", [1, 30])
async def test_the_names_of_many_agents_take_no_more_statements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    statements = counted_statements(monkeypatch)
    store = await open_store(str(tmp_path))
    await store.leases.join()
    for n in range(number):
        await store.records.bind(await claimed(store, f"t{n}"), "team", f"name-{n}")
    statements.clear()
    assert all(binding.stands for binding in await store.records.bindings("team"))
    assert len([each for each in statements if each.startswith("SELECT")]) == 2
    await store.aclose()
