import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from codex_mcp.base.files import (
    copy_regular,
    is_named,
    lines_up_to,
    make_private,
    make_private_folder,
    opened,
    read_beginning,
    read_if_there,
    read_regular,
    remove_drafts,
    rotate,
    short_lines,
    write_whole,
)
from tests.support.endless import KINDS, put


def test_a_missing_file_reads_as_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    assert read_if_there(str(tmp_path / "nothing")) is None
    assert read_if_there(str(tmp_path / "file" / "below")) is None
    assert read_if_there(str(tmp_path / "file")) == b"x"


def test_what_is_there_but_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        read_if_there(str(tmp_path))


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_without_an_end_is_refused_and_not_read(tmp_path: Path, kind: str) -> None:
    put(tmp_path / "endless", kind)
    for read in (read_regular, read_if_there):
        with pytest.raises(OSError, match=r"it is not a regular file|it is longer than 1000 bytes"):
            read(str(tmp_path / "endless"), 1000)
    with pytest.raises(OSError, match=r"it is not a regular file|too long|symbolic links"):
        copy_regular(str(tmp_path / "endless"), str(tmp_path / "copy"), 3 << 20)


def test_the_limit_counts_bytes_and_a_link_can_be_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"four")
    (tmp_path / "link").symlink_to("file")
    assert read_regular(str(tmp_path / "link"), 4) == b"four"
    assert read_beginning(str(tmp_path / "link"), 3) == b"fou"
    with pytest.raises(OSError, match="longer than 3 bytes"):
        read_regular(str(tmp_path / "file"), 3)
    with pytest.raises(OSError, match="symbolic links"):
        read_if_there(str(tmp_path / "link"), links=False)


def test_a_copy_is_private_and_follows_no_link_that_is_there_before(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"four")
    copy_regular(str(tmp_path / "file"), str(tmp_path / "copy"), 4)
    assert (tmp_path / "copy").read_bytes() == b"four"
    assert stat.S_IMODE((tmp_path / "copy").stat().st_mode) == 0o600
    (tmp_path / "planted").symlink_to("victim")
    with pytest.raises(FileExistsError):
        copy_regular(str(tmp_path / "file"), str(tmp_path / "planted"), 4)
    with pytest.raises(OSError, match="too long"):
        copy_regular(str(tmp_path / "file"), str(tmp_path / "other"), 3)
    assert not (tmp_path / "victim").exists()


def test_long_lines_are_skipped_and_reading_ends(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"one\n" + b"x" * 20 + b"\ntwo\nlast")
    with opened(str(tmp_path / "file")) as file:
        assert list(short_lines(file, 8, 100)) == [b"one\n", b"two\n", b"last"]
    with opened(str(tmp_path / "file")) as file:
        assert list(lines_up_to(file, 8, 100)) == [[b"one\n", None, b"two\n", b"last"]]
    with opened(str(tmp_path / "file")) as file:
        assert list(short_lines(file, 8, 4)) == [b"one\n"]


def test_a_new_file_is_private_and_whole(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    write_whole(str(path), b"{}")
    assert path.read_bytes() == b"{}"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["state.json"]


def test_an_existing_file_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_bytes(b"old")
    path.chmod(0o664)
    write_whole(str(path), b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o664


def test_a_symbolic_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    write_whole(str(tmp_path / "link"), b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


@pytest.mark.parametrize("call", ["open", "fchmod", "fsync", "replace"])
def test_a_write_that_fails_anywhere_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    path = tmp_path / "state.json"
    path.write_bytes(b"old")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    failing: Callable[..., None] = full
    with monkeypatch.context() as patch:
        patch.setattr(os, call, failing)
        with pytest.raises(OSError, match="No space left"):
            write_whole(str(path), b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["state.json"]


def test_the_drafts_of_killed_writers_are_removed_and_nothing_else(tmp_path: Path) -> None:
    kept = ["state.json", ".state.json", ".other.json.0123.draft", "state.json.0123.draft"]
    for name in [*kept, ".state.json.0123.draft", ".state.json.4567.draft"]:
        (tmp_path / name).write_bytes(b"half")
    remove_drafts(str(tmp_path / "state.json"))
    remove_drafts(str(tmp_path / "no folder" / "state.json"))
    assert sorted(os.listdir(tmp_path)) == sorted(kept)


def test_a_file_is_made_private_whether_it_is_there_or_not(tmp_path: Path) -> None:
    path = tmp_path / "file"
    make_private(str(path))
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"", 0o600)
    path.write_text("kept")
    path.chmod(0o664)
    make_private(str(path))
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("kept", 0o600)


def test_every_folder_that_is_made_is_for_its_owner_alone(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir(mode=0o755)
    make_private_folder(str(there / "a/b/c"))
    make_private_folder(str(there / "a/b/c"))
    made = [there / "a", there / "a/b", there / "a/b/c"]
    assert [stat.S_IMODE(each.stat().st_mode) for each in made] == [0o700] * 3
    assert stat.S_IMODE(there.stat().st_mode) == 0o755
    (there / "file").touch()
    with pytest.raises(FileExistsError):
        make_private_folder(str(there / "file"))


def test_rotation_keeps_the_newest_files(tmp_path: Path) -> None:
    path = tmp_path / "log"
    for number in range(4):
        path.write_text(str(number))
        rotate(str(path), 2)
    rotate(str(path), 2)  # there is no current file
    assert {each.name: each.read_text() for each in tmp_path.iterdir()} == {"log.2": "3"}
    path.write_text("4")
    rotate(str(path), 0)
    assert [each.name for each in tmp_path.iterdir()] == ["log.2"]


def test_an_open_file_is_named_until_it_is_replaced_or_removed(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with path.open("w") as file:
        assert is_named(file.fileno(), str(path))
        (tmp_path / "new").write_text("")
        (tmp_path / "new").replace(path)
        assert not is_named(file.fileno(), str(path))
        path.unlink()
        assert not is_named(file.fileno(), str(path))
