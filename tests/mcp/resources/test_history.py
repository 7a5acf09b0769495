"""Rollout files: only those of the thread, only where Codex keeps them, and no more than fits."""

from pathlib import Path

import pytest

from codex_mcp.base.errors import Refused
from codex_mcp.codex.core import CoreError
from codex_mcp.mcp.resources.history import Piece, read_history
from codex_mcp.wire.app.history import StoredThread

ID = "01a1e831-dce0-70c0-9750-9b26e0022257"
NAME = f"rollout-2026-11-17T06-29-04-{ID}.jsonl"


def rollout(home: Path, folder: str = "sessions/2026/11/17", name: str = NAME, data: bytes = b"{}\n") -> StoredThread:
    path = home / folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return StoredThread(ID, str(path))


def read(home: Path, thread: StoredThread, begin: int = 0, limit: int = 1000) -> Piece:
    return read_history(str(home), thread, begin, limit)


@pytest.mark.parametrize("folder", ["sessions/2026/11/17", "archived_sessions"])
def test_a_rollout_is_read_where_codex_keeps_it(tmp_path: Path, folder: str) -> None:
    assert read(tmp_path, rollout(tmp_path, folder)) == Piece(b"{}\n", 3, 3)


@pytest.mark.parametrize("end", [".jsonl.zst", "_01a1e831-dce0-70c0-9750-9b26e0022258.jsonl"])
def test_a_packed_one_and_that_of_a_rollback_are_read_as_well(tmp_path: Path, end: str) -> None:
    name = NAME.replace(".jsonl", end)
    assert read(tmp_path, rollout(tmp_path, name=name)) == Piece(b"{}\n", 3, 3)


@pytest.mark.parametrize(("folder", "name"), [("other", NAME), ("sessions", "rollout-of-another.jsonl"), ("", NAME)])
def test_any_other_file_is_refused(tmp_path: Path, folder: str, name: str) -> None:
    with pytest.raises(Refused, match="not where Codex keeps its files"):
        read(tmp_path, rollout(tmp_path, folder, name))


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    thread = rollout(tmp_path)
    assert thread.path is not None
    secret = tmp_path / NAME
    Path(thread.path).rename(secret)
    Path(thread.path).symlink_to(secret)
    with pytest.raises(Refused):
        read(tmp_path, thread)


def test_a_linked_codex_home_is_followed(tmp_path: Path) -> None:
    home = tmp_path / "real"
    thread = rollout(home)
    (tmp_path / "link").symlink_to(home)
    assert read(tmp_path / "link", thread).data == b"{}\n"


def test_a_thread_without_a_turn_has_an_empty_rollout_and_a_folder_is_an_error(tmp_path: Path) -> None:
    thread = rollout(tmp_path)
    assert thread.path is not None
    Path(thread.path).unlink()
    assert read(tmp_path, thread) == Piece(b"", 0, 0)
    Path(thread.path).mkdir()
    with pytest.raises(CoreError, match="cannot read the rollout file"):
        read(tmp_path, thread)


def test_a_long_rollout_is_read_in_pieces_that_end_with_lines(tmp_path: Path) -> None:
    data = b"".join(b'{"line":%d}\n' % number for number in range(50))
    thread = rollout(tmp_path, data=data)
    found, begin = b"", 0
    while begin < len(data):
        piece = read(tmp_path, thread, begin, 100)
        assert piece.data.endswith(b"\n")
        assert len(piece.data) <= 100
        assert piece.size == len(data)
        found, begin = found + piece.data, piece.end
    assert found == data


def test_a_line_that_does_not_fit_is_cut_anywhere(tmp_path: Path) -> None:
    assert read(tmp_path, rollout(tmp_path, data=b"x" * 30), 0, 20) == Piece(b"x" * 20, 20, 30)


def test_a_damaged_file_is_sent_as_bytes() -> None:
    assert Piece(b"{}", 2, 2).content() == {"text": "{}"}
    assert Piece(b"\xff", 1, 1).content() == {"blob": "/w=="}
