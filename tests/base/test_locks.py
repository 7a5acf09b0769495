"""Locks between servers."""

import fcntl
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from codex_mcp.base.locks import flocked, is_locked, lock_file
from tests.support.patience import PATIENCE


@pytest.fixture
def two(tmp_path: Path) -> Iterator[tuple[int, int]]:
    """The same file, opened twice: flock keeps them apart as it keeps processes apart."""
    opened = [os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT) for _ in range(2)]
    yield opened[0], opened[1]
    for descriptor in opened:
        os.close(descriptor)


def test_one_holds_it_and_gives_it_back_also_after_an_error(two: tuple[int, int]) -> None:
    mine, other = two
    with pytest.raises(BlockingIOError), flocked(mine, PATIENCE):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with flocked(other, 0):
        pass


def test_patience_ends(two: tuple[int, int]) -> None:
    mine, other = two
    with flocked(mine, 0), pytest.raises(TimeoutError, match="another process"), flocked(other, 0.02):
        pass


def test_whoever_waits_gets_it_next(two: tuple[int, int]) -> None:
    mine, other = two
    order: list[str] = []
    entered = threading.Event()

    def wait_for_it() -> None:
        entered.set()
        with flocked(other, PATIENCE):
            order.append("second")

    waiting = threading.Thread(target=wait_for_it)
    with flocked(mine, 0):
        waiting.start()
        entered.wait(PATIENCE)
        order.append("first")
    waiting.join(PATIENCE)
    assert order == ["first", "second"]


def test_a_locked_file_is_a_sign_of_life_until_it_is_closed(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    mine = lock_file(path, 0)
    assert is_locked(path)
    with pytest.raises(TimeoutError):
        lock_file(path, 0)
    os.close(mine)
    assert not is_locked(path)
    os.close(lock_file(path, 0))
