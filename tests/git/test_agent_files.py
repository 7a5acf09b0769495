"""What a git folder says is read without git, and nothing in it is believed."""

import os
from pathlib import Path

import pytest

from codex_mcp.git.agent_files import MOST_REFS, Told, is_ref, told_in
from tests.support.repositories import commit, git, repository


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return repository(tmp_path / "repo")


@pytest.mark.parametrize("name", ["refs/heads/a", "refs/heads/a/b-c.d", "refs/heads/é", "refs/stash"])
def test_names_that_git_accepts(checkout: Path, name: str) -> None:
    assert is_ref(name)
    git(checkout, "check-ref-format", name)


@pytest.mark.parametrize(
    "name",
    [
        *("heads/a", "refs/heads/../x", "refs/heads/.a", "refs/heads/a.lock", "refs/heads/a b", "refs/heads/a\n"),
        *("refs/heads/a//b", "refs/heads/a/", "refs/heads/a@{1}", "refs/heads/a~1", "refs/heads/a.", "-x", ""),
    ],
)
def test_names_that_git_refuses(name: str) -> None:
    assert not is_ref(name)


def test_a_git_folder_is_read_as_git_reads_it(checkout: Path) -> None:
    git(checkout, "branch", "x/y")
    git(checkout, "pack-refs", "--all")
    tip = commit(checkout, "b", "x\n")
    told = told_in(str(checkout / ".git"))
    assert (told.ref, told.commit) == ("refs/heads/main", tip)
    listed = git(checkout, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    assert told.refs == dict(line.split(" ") for line in listed)
    assert list(told.visited) == git(checkout, "log", "-g", "--format=%H").split()


def test_folders_in_the_place_of_files_are_passed_over_and_leave_nothing_open(tmp_path: Path) -> None:
    for name in ("HEAD", "packed-refs", "logs/HEAD", "logs/refs/stash", "refs/heads/main"):
        (tmp_path / name).mkdir(parents=True)
    before = os.listdir("/dev/fd")
    assert told_in(str(tmp_path)) == Told(None, None, {}, ())
    assert len(os.listdir("/dev/fd")) == len(before)


def test_of_very_many_references_only_the_first_are_read(tmp_path: Path) -> None:
    heads = tmp_path / "refs/heads"
    heads.mkdir(parents=True)
    for number in range(MOST_REFS + 10):
        (heads / str(number)).write_text("1" * 40)
    assert 0 < len(told_in(str(tmp_path)).refs) < MOST_REFS
