from pathlib import Path

import pytest

from codex_mcp.base.file_uris import uri_from_path
from codex_mcp.execserver.files.walk import walk
from codex_mcp.rpc.errors import RequestFailed
from codex_mcp.wire.exec.files import Walked, WalkOptions

OPTIONS = WalkOptions(8, 100, 1000, follow_directory_symlinks=False)


def names(found: Walked, root: Path) -> list[str]:
    return [entry.path.removeprefix(uri_from_path(str(root)) + "/") for entry in found.entries]


def test_a_walk_goes_breadth_first_with_sorted_names(tmp_path: Path) -> None:
    for name in ["b/x/y", "a"]:
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "a/file").write_text("")
    assert names(walk(str(tmp_path), OPTIONS), tmp_path) == ["a", "b", "a/file", "b/x", "b/x/y"]


def test_links_in_a_circle_end_the_walk(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/up").symlink_to("..")
    options = WalkOptions(64, 100, 1000, follow_directory_symlinks=True)
    assert names(walk(str(tmp_path), options), tmp_path) == ["a", "a/up"]


def test_hidden_folders_are_listed_but_not_entered_if_told_so(tmp_path: Path) -> None:
    (tmp_path / ".git/objects").mkdir(parents=True)
    options = WalkOptions(8, 100, 1000, follow_directory_symlinks=False, prune_hidden_directories=True)
    assert names(walk(str(tmp_path), options), tmp_path) == [".git"]


def test_limits_cut_the_walk_short(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name / "x").mkdir(parents=True)
    assert walk(str(tmp_path), WalkOptions(8, 2, 1000, follow_directory_symlinks=False)).truncated
    assert walk(str(tmp_path), WalkOptions(8, 100, 2, follow_directory_symlinks=False)).truncated
    assert names(walk(str(tmp_path), WalkOptions(0, 100, 9, follow_directory_symlinks=False)), tmp_path) == [*"abc"]


def test_limits_beyond_reason_are_refused(tmp_path: Path) -> None:
    for options in [WalkOptions(65, 1, 1, follow_directory_symlinks=False), WalkOptions(1, 0, 1, False)]:  # noqa: FBT003
        with pytest.raises(RequestFailed):
            walk(str(tmp_path), options)


def test_a_file_has_nothing_below_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert walk(str(tmp_path / "file"), OPTIONS) == Walked([], [], truncated=False)


@pytest.mark.parametrize("follows", [True, False])
def test_a_link_to_nothing_is_missing_whether_or_not_links_are_followed(tmp_path: Path, *, follows: bool) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError):
        walk(str(tmp_path / "link"), WalkOptions(8, 100, 1000, follow_directory_symlinks=follows))
