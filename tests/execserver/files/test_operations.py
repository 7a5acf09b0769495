import os
from pathlib import Path

import pytest

from codex_mcp.execserver.files import operations
from codex_mcp.rpc.errors import RequestFailed
from codex_mcp.wire.exec import files as fs

# Most of it is shown against both servers, in tests/support/exec/recordings/files.py. Here is what they differ in.


def test_native_paths_are_accepted(tmp_path: Path) -> None:
    operations.write_file(fs.WriteFile(str(tmp_path / "a b%"), "aGk="))
    assert operations.read_file(fs.ReadFile(str(tmp_path / "a b%"))) == fs.FileRead(b"hi")


def test_a_file_that_hides_its_size_is_read_whole() -> None:
    assert b"Pid:" in operations.read_file(fs.ReadFile("file:///proc/self/status")).data_base64


def test_a_copy_has_the_mode_of_its_source(tmp_path: Path) -> None:
    (tmp_path / "script").write_text("#!/bin/sh\n")
    (tmp_path / "script").chmod(0o750)
    operations.copy(fs.Copy(str(tmp_path / "script"), str(tmp_path / "copy"), recursive=False))
    assert (tmp_path / "copy").stat().st_mode & 0o777 == 0o750


def test_a_folder_is_not_copied_into_itself_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "link").symlink_to("a/b")
    with pytest.raises(RequestFailed, match="to itself or one of its descendants"):
        operations.copy(fs.Copy(str(tmp_path / "a"), str(tmp_path / "link/c"), recursive=True))


def test_folders_are_made_without_following_links(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    operations.create_directory(fs.CreateDirectory(str(tmp_path / "real/x/y"), follow_symlinks=False))
    assert (tmp_path / "real/x/y").is_dir()
    with pytest.raises(NotADirectoryError):
        operations.create_directory(fs.CreateDirectory(str(tmp_path / "link/z"), follow_symlinks=False))


def test_to_write_into_a_pipe_is_refused_instead_of_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(RequestFailed, match="is not a file"):
        operations.write_file(fs.WriteFile(str(tmp_path / "pipe"), ""))


def test_every_type_of_request_has_somebody_who_does_it() -> None:
    assert len(operations.OPERATIONS) == 9


def test_a_file_is_not_copied_to_itself_which_would_empty_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("content")
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "pipe")
    for name, why in (("file", "to itself"), ("link", "to itself"), ("pipe", "a pipe, a socket or a device")):
        with pytest.raises(RequestFailed, match=why) as caught:
            operations.copy(fs.Copy(str(tmp_path / "file"), str(tmp_path / name), recursive=False))
        assert caught.value.error.code == -32600
    assert (tmp_path / "file").read_text() == "content"
