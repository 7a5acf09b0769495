"""Who is alive in the eyes of one node: locks are evidence, silence is only for those who were awake."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from codex_mcp.state.contract import Bounds, Claim, Fenced
from codex_mcp.state.embedded.flock import NodeLock
from codex_mcp.state.embedded.opening import open_database
from codex_mcp.state.embedded.view import StoreView, check, current_claim, standing_of
from codex_mcp.state.lease import Standing

TTL = 10.0


def known(db: sqlite3.Connection, node_id: str, since: float, expires: float) -> None:
    db.execute("INSERT INTO node VALUES (?, 1, 'host', 'address', ?, ?)", (node_id, since, expires))


def test_a_node_is_dead_without_its_lock_and_silent_only_to_a_good_judge(tmp_path: Path) -> None:
    view, now = StoreView(str(tmp_path), Bounds(ttl=TTL), lambda: now), 100.0
    with closing(open_database(str(tmp_path))) as db:
        known(db, "other", 0, 90)
        known(db, "me", 95, 105)
        node = view.node(db, "other")
        assert node is not None
        assert not node.alive
        lock = NodeLock(str(tmp_path), "other")
        for me, moment, alive in (
            (None, 100.0, True),
            ("me", 100.0, True),
            ("me", 104.9, True),
            ("other", 100.0, True),
        ):
            view.me, now = me, moment
            node = view.node(db, "other")
            assert node is not None
            assert node.alive is alive
        db.execute("UPDATE node SET expires = 200 WHERE id = 'me'")
        view.me, now = "me", 105.0
        node = view.node(db, "other")
        assert node is not None
        assert (node.alive, node.address, node.expires) == (False, "address", 90)
        lock.give_up()
        assert view.node(db, "unknown") is None
        assert standing_of(db, "me") == Standing(95, 200)
        assert standing_of(db, None) is None


def test_only_the_current_claim_is_valid(tmp_path: Path) -> None:
    view = StoreView(str(tmp_path), Bounds(), lambda: 0.0)
    with closing(open_database(str(tmp_path))) as db:
        known(db, "n", 0, 10)
        db.execute("INSERT INTO claim VALUES ('t', 'n', 7)")
        assert current_claim(db, "t") == Claim("t", "n", 7)
        check(db, Claim("t", "n", 7))
        for stale in (Claim("t", "n", 6), Claim("t", "m", 7), Claim("u", "n", 7)):
            with pytest.raises(Fenced):
                check(db, stale)
        owner = view.owner(db, "t")
        assert owner is not None
        assert owner.id == "n"
        assert view.owner(db, "u") is None
