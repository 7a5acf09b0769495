"""A held lock is a sign of life, and nothing else is."""

import fcntl
import os
from pathlib import Path

import pytest

from codex_mcp.state.embedded import flock
from codex_mcp.state.embedded.flock import (
    NodeLock,
    alone_while_opening,
    has_died,
    lock_path,
    nodes_with_locks,
    remove_dead_locks,
    seconds_since_joining,
    socket_path,
)
from tests.support.patience import PATIENCE


def test_a_node_lives_while_its_lock_is_held(tmp_path: Path) -> None:
    lock = NodeLock(str(tmp_path), "n")
    assert not has_died(str(tmp_path), "n")
    assert (tmp_path / "nodes" / "n.lock").stat().st_mode & 0o777 == 0o600
    lock.drop()
    lock.drop()
    assert has_died(str(tmp_path), "n")
    assert nodes_with_locks(str(tmp_path)) == ["n"]


def test_a_lock_that_is_given_up_leaves_nothing(tmp_path: Path) -> None:
    lock = NodeLock(str(tmp_path), "n")
    lock.give_up()
    lock.give_up()
    assert has_died(str(tmp_path), "n")
    assert nodes_with_locks(str(tmp_path)) == []


def test_a_node_that_never_was_is_dead(tmp_path: Path) -> None:
    assert has_died(str(tmp_path), "n")
    assert nodes_with_locks(str(tmp_path)) == []


def test_a_node_is_known_to_have_joined_just_now_or_long_ago(tmp_path: Path) -> None:
    lock = NodeLock(str(tmp_path), "one")
    now = os.stat(lock_path(str(tmp_path), "one")).st_mtime
    assert seconds_since_joining(str(tmp_path), "one") < PATIENCE
    os.utime(lock_path(str(tmp_path), "one"), (now - 3600, now - 3600))
    assert seconds_since_joining(str(tmp_path), "one") >= 3600
    lock.give_up()
    assert seconds_since_joining(str(tmp_path), "one") == 0.0


def test_one_who_looks_does_not_look_alive_to_another(tmp_path: Path) -> None:
    NodeLock(str(tmp_path), "n").drop()
    with (tmp_path / "nodes" / "n.lock").open() as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        assert has_died(str(tmp_path), "n")


def test_only_the_files_of_dead_strangers_are_removed(tmp_path: Path) -> None:
    living = NodeLock(str(tmp_path), "living")
    for name in ("known", "stranger"):
        NodeLock(str(tmp_path), name).drop()
    for name in ("known", "stranger", "living", "never"):
        Path(socket_path(str(tmp_path), name)).touch()
    remove_dead_locks(str(tmp_path), frozenset({"known"}))
    assert nodes_with_locks(str(tmp_path)) == ["known", "living"]
    assert sorted(path.name for path in tmp_path.glob("nodes/*.sock")) == ["living.sock"]
    living.give_up()


def test_a_file_that_was_removed_while_it_was_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody takes the new file for a dead node's, between its making and its locking."""
    lock_file, removals = fcntl.flock, iter([True])

    def removed_first(descriptor: int, operation: int) -> None:
        if next(removals, False):
            remove_dead_locks(str(tmp_path), frozenset())
        lock_file(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", removed_first)
    lock = NodeLock(str(tmp_path), "n")
    monkeypatch.undo()
    assert not has_died(str(tmp_path), "n")
    lock.give_up()


def test_a_lock_that_somebody_keeps_is_not_waited_for_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flock, "OPENING_PATIENCE", 0.0)
    NodeLock(str(tmp_path), "n").drop()
    with (tmp_path / "nodes" / "n.lock").open() as reader:
        fcntl.flock(reader, fcntl.LOCK_EX)
        with pytest.raises(TimeoutError, match="another process held the lock"):
            NodeLock(str(tmp_path), "n")


def test_a_server_that_never_finishes_opening_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flock, "OPENING_PATIENCE", 0.0)
    with (
        alone_while_opening(str(tmp_path)),
        pytest.raises(TimeoutError, match="another server"),
        alone_while_opening(str(tmp_path)),
    ):
        raise AssertionError("two at once")
    with alone_while_opening(str(tmp_path)):
        assert os.listdir(tmp_path) == ["opening.lock"]
