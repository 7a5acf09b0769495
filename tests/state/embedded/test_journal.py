"""What the database holds of the journal: no more than is kept, and whose entry each is."""

import sqlite3
from contextlib import closing
from pathlib import Path

from codex_mcp.state.contract import Bounds
from codex_mcp.state.embedded.store import open_store
from tests.support.state.worlds import claimed


async def test_the_table_does_not_grow_and_tokens_never_fall(tmp_path: Path) -> None:
    store = await open_store(str(tmp_path), Bounds(journal_kept=20))
    await store.leases.join()
    for _ in range(50):
        claim = await claimed(store, "t")
        await store.journal.append(claim, "s", [b"x"])
    await store.aclose()
    with closing(sqlite3.connect(tmp_path / "state.db")) as database:
        rows = database.execute("SELECT at, token FROM journal ORDER BY at").fetchall()
    assert [at for at, _ in rows] == list(range(30, 50))
    assert [token for _, token in rows] == sorted({token for _, token in rows})
