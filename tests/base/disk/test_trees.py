"""Folders are removed however deep they are, and nothing outside of them is."""

import os
import resource
import sys
from pathlib import Path

import pytest

from codex_mcp.base.disk.trees import Cursor, remove_tree
from tests.support.deep_folders import DEEP, dig, removed_at_last


def test_a_folder_deeper_than_any_limit_is_removed(tmp_path: Path) -> None:
    assert sys.getrecursionlimit() < DEEP
    most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with removed_at_last(tmp_path / "deep"):
        dig(tmp_path / "deep")
        dig(tmp_path / "deep/beside", 10)
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, most[1]))
        try:
            remove_tree(str(tmp_path / "deep"))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, most)
        assert os.listdir(tmp_path) == []


def test_links_are_removed_and_not_followed(tmp_path: Path) -> None:
    kept, gone = tmp_path / "kept", tmp_path / "gone"
    for folder in (kept, gone / "a/b", gone / "c"):
        folder.mkdir(parents=True)
    (kept / "file").write_text("mine")
    (gone / "a/link").symlink_to(kept)
    (gone / "a/b/file").symlink_to(kept / "file")
    os.mkfifo(gone / "c/pipe")
    remove_tree(str(gone))
    assert os.listdir(tmp_path) == ["kept"]
    assert (kept / "file").read_text() == "mine"
    (tmp_path / "link").symlink_to(kept)
    with pytest.raises(OSError, match="link"):
        remove_tree(str(tmp_path / "link"))
    assert os.listdir(kept) == ["file"]


def test_what_cannot_be_removed_is_named_and_all_else_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b/c", "d"):
        (tmp_path / "gone" / name).mkdir(parents=True)
        (tmp_path / "gone" / name / "file").write_text("")
    unlink = os.unlink

    def refusing(name: str, *, dir_fd: int) -> None:
        if os.path.samestat(os.fstat(dir_fd), os.stat(tmp_path / "gone/b/c")):
            raise PermissionError(1, "Operation not permitted", name)
        unlink(name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "unlink", refusing)
    with pytest.raises(PermissionError) as caught:
        remove_tree(str(tmp_path / "gone"))
    assert caught.value.filename == str(tmp_path / "gone/b/c/file")
    assert sorted(path.name for path in (tmp_path / "gone").rglob("*")) == ["b", "c", "file"]


def test_a_folder_that_was_moved_meanwhile_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    here = Cursor(str(tmp_path / "a"))
    here.enter("b")
    os.rename(tmp_path / "a/b", tmp_path / "other/b")
    with pytest.raises(OSError, match="moved"):
        here.leave()
    here.close()
