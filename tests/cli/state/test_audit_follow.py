import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from codex_mcp.cli.state.audit_follow import Follower


class NothingMore(Exception):
    """There is nothing to read for now."""


def pause() -> None:
    raise NothingMore


def lines_now(follower: Follower) -> list[bytes]:
    """What there is by now. Following goes on for ever: two pauses in a row end it here."""
    found: list[bytes] = []
    for _ in range(2):
        with contextlib.suppress(NothingMore):
            for line in follower.lines(pause):
                found += [line]  # one by one: what came before the pause is kept
    return found


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


@pytest.fixture
def follower(path: Path) -> Iterator[Follower]:
    path.write_bytes(b"old\n")
    with contextlib.closing(Follower(str(path))) as follower:
        yield follower


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_what_is_appended_comes_in_whole_lines(follower: Follower, path: Path) -> None:
    assert lines_now(follower) == []
    append(path, b"one\ntw")
    assert lines_now(follower) == [b"one"]
    append(path, b"o\n")
    assert lines_now(follower) == [b"two"]


def test_a_file_that_is_set_aside_is_read_to_its_end_and_the_new_one_from_its_beginning(
    follower: Follower, path: Path
) -> None:
    append(path, b"last\n")
    os.replace(path, f"{path}.1")
    assert lines_now(follower) == [b"last"]
    append(path, b"first\n")
    assert lines_now(follower) == [b"first"]


def test_a_file_may_come_later(path: Path) -> None:
    with contextlib.closing(Follower(str(path))) as follower:
        assert lines_now(follower) == []
        append(path, b"one\n")
        assert lines_now(follower) == [b"one"]
        follower.close()
