"""Repositories and branches, compared with what git itself says."""

import os
import subprocess
from pathlib import Path

import pytest

from codex_mcp.base.git import (
    Checkout,
    Position,
    checkout_around,
    packed_commit,
    position_of,
)

ENVIRONMENT = {
    "PATH": os.environ.get("PATH", os.defpath),
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CEILING_DIRECTORIES": "",
    **{f"GIT_{who}_{what}": "a@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, env=ENVIRONMENT, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one commit, on the branch `main`."""
    folder = tmp_path.resolve() / "alpha"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


def test_a_folder_in_a_repository(repository: Path) -> None:
    inner = repository / "a" / "b"
    inner.mkdir(parents=True)
    assert checkout_around(str(inner)) == Checkout(str(repository), "alpha", "main")
    git(repository, "switch", "-q", "-c", "fix/é-1")
    assert checkout_around(str(inner)).branch == git(repository, "branch", "--show-current")


def test_a_branch_without_a_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "trunk")
    assert checkout_around(str(tmp_path)).branch == "trunk"


def test_a_detached_head_is_the_short_id_of_its_commit(repository: Path) -> None:
    git(repository, "checkout", "-q", "--detach")
    assert checkout_around(str(repository)).branch == git(repository, "rev-parse", "--short=7", "HEAD")


def test_a_work_tree_has_its_own_branch_and_root_and_its_repositorys_name(repository: Path) -> None:
    tree = repository.parent / "tree"
    git(repository, "worktree", "add", "-q", "-b", "side", str(tree))
    assert checkout_around(str(tree)) == Checkout(str(tree), "alpha", "side")
    git(repository, "remote", "add", "origin", "https://example.com/team/beta.git")
    assert checkout_around(str(tree)).name == "beta"
    git(tree, "checkout", "-q", "--detach")
    assert checkout_around(str(tree)).branch == git(tree, "rev-parse", "--short=7", "HEAD")


def test_a_submodule_is_a_repository_of_its_own(repository: Path) -> None:
    other = repository.parent / "library"
    other.mkdir()
    git(other, "init", "-q", "-b", "stable")
    git(other, "commit", "-q", "--allow-empty", "-m", "first")
    git(repository, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "vendor/lib")
    inner = repository / "vendor" / "lib"
    assert checkout_around(str(inner)) == Checkout(str(inner), "library", "stable")


def test_a_bare_repository(repository: Path) -> None:
    bare = repository.parent / "store.git"
    git(repository.parent, "clone", "-q", "--bare", str(repository), str(bare))
    git(bare, "remote", "remove", "origin")
    assert checkout_around(str(bare)) == Checkout(str(bare), "store", "main")


def test_inside_of_the_git_folder_one_is_in_the_repository(repository: Path) -> None:
    assert checkout_around(str(repository / ".git" / "refs")).root == str(repository)


def test_through_a_link_one_is_where_it_leads(repository: Path) -> None:
    (repository / "src").mkdir()
    link = repository.parent / "link"
    link.symlink_to(repository / "src")
    assert checkout_around(str(link)) == Checkout(str(repository), "alpha", "main")


def test_outside_of_any_repository_only_the_folder_is_known(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "missing"):
        assert checkout_around(str(folder)) == Checkout(None, None, None)


def test_the_empty_folder_that_a_killed_sandbox_leaves_is_no_repository(repository: Path) -> None:
    inner = repository / "inner"
    (inner / ".git").mkdir(parents=True)
    assert checkout_around(str(inner)).root == str(repository)


@pytest.mark.parametrize(
    "head", [b"", b"ref:", b"ref: refs/heads/", b"nonsense", b"\xff\xfe", b"ref: refs/heads/.invalid", b"0123abc"]
)
def test_a_broken_head_is_no_branch(repository: Path, head: bytes) -> None:
    (repository / ".git" / "HEAD").write_bytes(head)
    assert checkout_around(str(repository)) == Checkout(str(repository), "alpha", None)


def test_names_that_are_no_utf8_are_shown_as_well_as_can_be(repository: Path) -> None:
    odd = repository.parent / os.fsdecode(b"caf\xe9")
    repository.rename(odd)
    (odd / ".git" / "HEAD").write_bytes(b"ref: refs/heads/caf\xe9\n")
    link = odd.parent / "link"
    link.symlink_to(odd)
    shown = "caf\N{REPLACEMENT CHARACTER}"
    assert checkout_around(str(link)) == Checkout(str(odd.parent / shown), shown, shown)


def test_files_that_are_none_are_not_waited_for(repository: Path) -> None:
    (repository / ".git" / "HEAD").unlink()
    os.mkfifo(repository / ".git" / "HEAD")
    (repository / ".git" / "config").unlink()
    (repository / ".git" / "config").mkdir()
    assert checkout_around(str(repository)) == Checkout(str(repository), "alpha", None)


def test_a_git_file_that_leads_nowhere_is_a_repository_about_which_nothing_is_known(tmp_path: Path) -> None:
    folder = tmp_path.resolve() / "odd"
    folder.mkdir()
    (folder / ".git").write_text("gitdir: ../gone\n")
    assert checkout_around(str(folder)) == Checkout(str(folder), "odd", None)
    (folder / ".git").write_text("nothing of git's")
    assert checkout_around(str(folder)).root is None


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://example.com/team/beta.git", "beta"),
        ("https://example.com/team/beta/", "beta"),
        ("git@example.com:team/beta.git", "beta"),
        ("example.com:beta", "beta"),
        ("/srv/git/beta.git", "beta"),
        ("https://me:hush@example.com", "alpha"),
        ("https://me:hush@example.com/", "alpha"),
        ("ssh://me:hush@example.com:22/beta.git", "beta"),
        ("file with spaces # and more", "file with spaces # and more"),
    ],
)
def test_the_name_comes_from_origin_and_holds_no_secret(repository: Path, url: str, name: str) -> None:
    git(repository, "remote", "add", "other", "https://example.com/other.git")
    git(repository, "remote", "add", "origin", url)
    assert checkout_around(str(repository)).name == name


def test_origin_may_be_on_the_line_of_its_section(repository: Path) -> None:
    (repository / ".git" / "config").write_text('[core]\nurl = x\n[Remote "origin"] URL = a/b.git ; comment\n')
    assert checkout_around(str(repository)).name == "b"


@pytest.mark.parametrize(
    "line", ['[remote{}"origin', '[remote "origin"]{}url', '[remote "origin"] url{}x', '[remote "origin"] url = a{}"']
)
def test_a_long_row_of_spaces_takes_no_longer_than_other_text(repository: Path, line: str) -> None:
    (repository / ".git" / "config").write_text(line.format(" " * 250_000))
    assert checkout_around(str(repository)).root == str(repository)


def test_a_position_is_what_git_says_of_head(repository: Path) -> None:
    commit = git(repository, "rev-parse", "HEAD")
    inside = repository / "sub"
    inside.mkdir()
    found = position_of(str(inside))
    assert found == Position(
        str(repository), str(repository / ".git"), str(repository / ".git"), "refs/heads/main", commit
    )
    git(repository, "pack-refs", "--all")
    packed = position_of(str(repository))
    assert packed is not None
    assert (packed.commit, packed_commit(packed)) == (None, commit)
    git(repository, "checkout", "-q", "--detach")
    detached = position_of(str(repository))
    assert detached is not None
    assert (detached.ref, detached.commit, packed_commit(detached)) == (None, commit, None)
    git(repository, "checkout", "-q", "-b", "other")
    other = position_of(str(repository))
    assert other is not None
    (repository / ".git/packed-refs").unlink()
    assert packed_commit(other) is None


def test_outside_of_a_checkout_there_is_no_position(tmp_path: Path) -> None:
    assert position_of(str(tmp_path)) is None
    git(tmp_path, "init", "-q", "--bare")
    assert position_of(str(tmp_path)) is None
