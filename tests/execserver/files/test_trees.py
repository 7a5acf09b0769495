import os
from pathlib import Path

import pytest

from codex_mcp.base.disk.trees import Cursor, remove_tree
from codex_mcp.execserver.files.trees import NotAFile, SameFile, copy_content, copy_tree, make_folders

DEPTH = 3000
"""Deeper than the stack of Python, and than a path can be long."""


def make_deep(root: Path) -> None:
    root.mkdir()
    here = Cursor(str(root))
    for _ in range(DEPTH):
        os.mkdir("d", dir_fd=here.fd)
        here.enter("d")
    os.close(os.open("leaf", os.O_CREAT | os.O_WRONLY, dir_fd=here.fd))
    here.close()


def test_a_tree_deeper_than_any_path_is_copied_and_removed(tmp_path: Path) -> None:
    make_deep(tmp_path / "deep")
    (tmp_path / "copy").mkdir()
    copy_tree(str(tmp_path / "deep"), str(tmp_path / "copy"))
    remove_tree(str(tmp_path / "deep"))
    here = Cursor(str(tmp_path / "copy"))
    for _ in range(DEPTH):
        here.enter("d")
    assert os.listdir(here.fd) == ["leaf"]
    here.close()
    remove_tree(str(tmp_path / "copy"))
    assert os.listdir(tmp_path) == []


def test_a_copy_has_files_links_and_modes_and_nothing_else(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    (source / "a/b").mkdir(parents=True)
    (source / "c").mkdir()
    (source / "a/b/file").write_text("content")
    (source / "a/b/file").chmod(0o751)
    (source / "link").symlink_to("nowhere")
    (source / "folder-link").symlink_to("a")
    os.mkfifo(source / "pipe")
    target.mkdir()
    (target / "a").mkdir()
    copy_tree(str(source), str(target))
    assert sorted(os.listdir(target)) == ["a", "c", "folder-link", "link"]
    assert (target / "a/b/file").read_text() == "content"
    assert (target / "a/b/file").stat().st_mode & 0o777 == 0o751
    assert os.readlink(target / "link") == "nowhere"
    assert os.readlink(target / "folder-link") == "a"


def test_what_stands_in_the_way_of_a_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "source/a").mkdir(parents=True)
    (tmp_path / "target").mkdir()
    (tmp_path / "target/a").touch()
    with pytest.raises(FileExistsError):
        copy_tree(str(tmp_path / "source"), str(tmp_path / "target"))


def test_a_file_is_not_copied_to_itself_nor_into_a_pipe(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("content")
    os.link(file, tmp_path / "hard")
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "pipe")
    for name, error in (("file", SameFile), ("hard", SameFile), ("link", SameFile), ("pipe", NotAFile)):
        with pytest.raises(error):
            copy_content(os.open(file, os.O_RDONLY), str(tmp_path / name))
    assert file.read_text() == "content"


def test_folders_are_made_to_any_depth_that_a_path_can_have(tmp_path: Path) -> None:
    path = str(tmp_path) + "/d" * 1500
    make_folders(path)
    make_folders(path)
    assert os.path.isdir(path)
    (tmp_path / "file").touch()
    for name in ("file", "file/below"):
        with pytest.raises(OSError, match=r"exists|Not a directory"):
            make_folders(str(tmp_path / name))
    remove_tree(str(tmp_path / "d"))
