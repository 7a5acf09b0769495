import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.execserver.sandbox import repositories
from codex_mcp.execserver.sandbox.repositories import Repositories, git_directories, git_directory, pointer_target


def make(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).mkdir(parents=True)


def test_repositories_below_a_folder_are_found_the_nearest_first(tmp_path: Path) -> None:
    make(tmp_path, ".git", "a/b/c/.git", "x/.git/modules/y/.git", "node_modules/n/.git")
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "a/.git").write_text("gitdir: elsewhere")
    found = Repositories().below(str(tmp_path))
    assert sorted(found[:2]) == [str(tmp_path / "a/.git"), str(tmp_path / "x/.git")]
    assert found[2:] == (str(tmp_path / "a/b/c/.git"),)


def test_a_scan_stops_at_its_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, "near/.git", "far/far/far/.git", *(f"near/{number}" for number in range(20)))
    monkeypatch.setattr(repositories, "MAX_SCANNED", 20)
    assert Repositories().below(str(tmp_path)) == (str(tmp_path / "near/.git"),)
    monkeypatch.undo()
    monkeypatch.setattr(repositories, "MAX_REPOSITORIES", 1)
    assert Repositories().below(str(tmp_path)) == (str(tmp_path / "near/.git"),)


def test_a_scan_is_used_again_for_a_while_but_not_for_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, "work/a/.git")
    known = Repositories()
    monkeypatch.setattr(repositories, "REUSE_FACTOR", 1e9)
    assert known.below(str(tmp_path / "work")) == (str(tmp_path / "work/a/.git"),)
    make(tmp_path, "work/b/.git")
    assert known.below(str(tmp_path / "work")) == (str(tmp_path / "work/a/.git"),)
    os.rename(tmp_path / "work", tmp_path / "old")
    make(tmp_path, "work/c/.git")
    assert known.below(str(tmp_path / "work")) == (str(tmp_path / "work/c/.git"),)
    monkeypatch.setattr(repositories, "REUSE_FACTOR", 0)
    other = Repositories()
    other.below(str(tmp_path / "work"))
    make(tmp_path, "work/d/.git")
    assert len(other.below(str(tmp_path / "work"))) == 2


def test_only_so_many_scans_are_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repositories, "MAX_REMEMBERED", 2)
    known = Repositories()
    for name in ("a", "b", "c"):
        make(tmp_path, name)
        known.below(str(tmp_path / name))
    assert list(known._scans) == [str(tmp_path / "b"), str(tmp_path / "c")]


def test_pointers_that_lead_in_a_circle_end(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: other")
    (tmp_path / "other").write_text("gitdir: .git")
    assert set(git_directories(str(tmp_path / ".git"))) == {str(tmp_path / ".git"), str(tmp_path / "other")}


@pytest.mark.parametrize(
    ("content", "target"),
    [
        (b"gitdir: /abs\n", "/abs"),
        (b"gitdir: ../.git/modules/m\n", "/w/../.git/modules/m"),
        (b"gitdir:x", "/w/x"),
        (b"  gitdir:  with space \r\n", "/w/with space"),
        (b"gitdir: \xff", "/w/\udcff"),
        (b"gitdir:", None),
        (b"gitdir: a\0b", None),
        (b"gitdir: a\nb", None),
        (b"", None),
        (b"ref: refs/heads/main\n", None),
    ],
)
def test_a_git_file_leads_to_its_directory(content: bytes, target: str | None) -> None:
    assert git_directory(content, "/w") == target


def test_a_pointer_target_counts_from_the_git_folder() -> None:
    assert pointer_target(b"../..\n", "/r/.git/worktrees/w") == "/r/.git/worktrees/w/../.."
    assert pointer_target(b"/r/.git", "/w") == "/r/.git"
    assert pointer_target(b"\n", "/w") is None


@given(st.binary())
def test_any_content_is_a_path_or_nothing(content: bytes) -> None:
    for found in (git_directory(content, "/w"), pointer_target(content, "/w")):
        assert found is None or (found.startswith("/") and "\0" not in found)
