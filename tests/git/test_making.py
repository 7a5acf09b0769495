"""Worktrees are made whole or not at all, even if the server is killed, and nothing of the repository runs."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from codex_mcp.base.errors import Refused
from codex_mcp.git.making import Made, WantedWorktree, make, undo
from codex_mcp.git.publishing import publish
from codex_mcp.git.records import all_records, delete_record, read_record
from codex_mcp.git.removing import close, open_again
from codex_mcp.git.running import GitFailed
from codex_mcp.git.worktree import Worktree, WorktreeState
from tests.support.deep_folders import dig, removed_at_last
from tests.support.killed import killed_at
from tests.support.repositories import agents_commit, agents_git, branches, commit, git, registrations, repository


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return repository(tmp_path / "repo", **{"a": "one\n", "sub/b": "two\n"})


def asked(checkout: Path, folder: str = "", name: str = "arch") -> WantedWorktree:
    return WantedWorktree(f"codex:{name}1", name, str(checkout / folder), str(checkout.parent / "state"))


def made(checkout: Path) -> Worktree:
    return make(asked(checkout)).worktree


def left_in(checkout: Path) -> tuple[list[str], list[str]]:
    """Entries of git besides the checkout, and files besides the records."""
    folder = checkout.parent / "state/.worktrees"
    # A killed writer may leave the draft of a record, as of every file that is written as a whole.
    names = sorted(name for name in os.listdir(folder) if name[0] != ".") if folder.exists() else []
    return sorted(registrations(checkout))[1:], names


def pruned(checkout: Path) -> None:
    for record in all_records(str(checkout.parent / "state")):
        left = close(record)
        assert left.why is None
        delete_record(left.worktree)


def test_killed_at_any_step_of_the_making_nothing_is_left_after_a_prune(checkout: Path) -> None:
    step = 0
    while killed_at(step, lambda: made(checkout)):
        pruned(checkout)
        assert (left_in(checkout), branches(checkout)) == (([], []), ["main"]), step
        step += 1
    assert step > 10
    assert left_in(checkout) == ([], ["arch-arch1", "arch-arch1.json"])


@pytest.mark.parametrize("act", [close, open_again])
def test_killed_at_any_step_of_a_close_or_a_resume_every_commit_stays(
    checkout: Path, act: Callable[[Worktree], object]
) -> None:
    worktree = made(checkout)
    tip = agents_commit(worktree.path, "new", "x\n")
    if act is open_again:
        worktree = close(worktree).worktree
    step = 0
    while killed_at(step, lambda: act(read_record(worktree.folder) or worktree)):
        again = open_again(read_record(worktree.folder) or worktree).worktree
        publish(again)
        for run in (git, agents_git):
            assert run(again.path, "rev-parse", "HEAD") == tip, step
            assert run(again.path, "status", "--porcelain") == ""
        if act is open_again:
            assert close(again).why is None
        step += 1
    assert step > 4
    assert [path for path, told in registrations(checkout).items() if "prunable" in str(told)] == []


def test_a_branch_that_another_agent_has_is_never_deleted(checkout: Path) -> None:
    worktree = made(checkout)
    other = make(asked(checkout, name="bee")).worktree
    undo(replace(worktree, state=WorktreeState.MAKING, is_new=True, branch=other.branch))
    assert other.branch in branches(checkout)
    assert git(other.path, "status", "--porcelain") == ""


def test_a_failed_checkout_leaves_nothing(checkout: Path) -> None:
    """As on a full disk: git fails in the middle, here because an object is missing."""
    blob = git(checkout, "rev-parse", "HEAD:sub/b")
    (checkout / ".git/objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(GitFailed, match=r"(?s)cannot make a worktree of .*; nothing of it is left"):
        made(checkout)
    assert (left_in(checkout), branches(checkout)) == (([], []), ["main"])


def test_the_agent_works_in_the_same_folder_of_its_worktree(checkout: Path) -> None:
    worktree = make(asked(checkout, "sub")).worktree
    assert worktree.cwd == f"{worktree.path}/sub"
    assert os.listdir(worktree.cwd) == ["b"]
    assert agents_git(worktree.path, "rev-parse", "--show-toplevel") == worktree.path
    inner = make(WantedWorktree("codex:2", "inner", worktree.cwd, asked(checkout).state_dir)).worktree  # of a worktree
    assert (inner.cwd, inner.common) == (f"{inner.path}/sub", worktree.common)


@pytest.mark.parametrize("replaced", ["sub", "sub/deep"])
@pytest.mark.parametrize("kind", ["link", "file"])
def test_the_agent_s_folder_is_never_a_link(tmp_path: Path, replaced: str, kind: str) -> None:
    """Neither one that the agent has committed nor one that somebody has put there since."""
    checkout = repository(tmp_path / "repo", **{"a": "one\n", "sub/deep/b": "two\n"})
    (tmp_path / "victim/deep").mkdir(parents=True)
    worktree = make(asked(checkout, "sub/deep")).worktree
    folder = Path(worktree.path, replaced)
    shutil.rmtree(folder)
    folder.write_text("x") if kind == "file" else folder.symlink_to(tmp_path / "victim")
    with pytest.raises(
        Refused, match="sub/deep, or one on the way to it, is a link or a file; put a folder in its place"
    ):
        open_again(worktree)
    agents_git(worktree.path, "add", "-A")
    agents_git(worktree.path, "commit", "-qm", "evil")
    left = close(worktree)
    assert left.why is None
    with pytest.raises(
        GitFailed, match=r"in branch codex/arch, the agent's folder sub/deep.* is a link or a file; commit"
    ):
        open_again(left.worktree)
    assert (os.listdir(tmp_path / "victim"), left_in(checkout)[1]) == (["deep"], [Path(worktree.record + ".json").name])
    git(checkout, "checkout", "-q", "codex/arch")
    git(checkout, "revert", "--no-edit", "HEAD")
    git(checkout, "checkout", "-q", "main")
    assert os.listdir(open_again(left.worktree).worktree.cwd) == ["b"]


def test_a_missing_folder_of_the_agent_becomes_an_empty_one(checkout: Path) -> None:
    worktree = make(asked(checkout, "sub")).worktree
    shutil.rmtree(worktree.cwd)
    assert os.listdir(open_again(worktree).worktree.cwd) == []
    agents_git(worktree.path, "commit", "-qam", "removes the folder")
    left = close(worktree)
    assert os.listdir(open_again(left.worktree).worktree.cwd) == []


def test_a_folder_that_is_in_the_way_is_left_alone(checkout: Path) -> None:
    (Path(asked(checkout).path) / "x").mkdir(parents=True)
    with pytest.raises(Refused, match="exists already; move it away"):
        made(checkout)
    assert (Path(asked(checkout).path) / "x").exists()


def test_taken_branches_get_a_number(checkout: Path) -> None:
    git(checkout, "branch", "codex/arch")
    git(checkout, "branch", "codex/arch-2/inner")
    assert made(checkout).branch == "codex/arch-3"


def test_what_only_ignored_files_hold_is_removed_and_everything_else_kept(checkout: Path) -> None:
    worktree = made(checkout)
    folder = Path(worktree.path)
    agents_commit(folder, ".gitignore", "ignored\n")
    (folder / "ignored").write_text("x")
    (folder / "a").write_text("changed\n")
    agents_git(folder, "update-index", "--assume-unchanged", "a")
    assert close(worktree).why == "1 file with uncommitted changes"
    agents_git(folder, "update-index", "--no-assume-unchanged", "a")
    agents_git(folder, "checkout", "-q", "a")
    (folder / "a").unlink()
    assert close(worktree).why == "1 file with uncommitted changes"
    agents_git(folder, "checkout", "-q", "a")
    (folder / "new").write_text("x")
    assert close(worktree).why == "1 file with uncommitted changes"
    (folder / "new").unlink()
    (folder.parent / ".git/MERGE_HEAD").write_text("x")
    assert close(worktree).why == "an unfinished merge"
    (folder.parent / ".git/MERGE_HEAD").unlink()
    assert close(worktree).why is None
    assert not folder.parent.exists()


def test_a_worktree_deeper_than_any_limit_is_removed(checkout: Path) -> None:
    worktree = made(checkout)
    agents_commit(worktree.path, ".gitignore", "deep\n")
    with removed_at_last(Path(worktree.folder)):
        dig(Path(worktree.path, "deep"))
        dig(Path(worktree.own_git, "deep"))
        left = close(worktree)
        assert (left.why, left_in(checkout)[1]) == (None, [Path(worktree.record + ".json").name])
    assert os.listdir(open_again(left.worktree).worktree.path).count("deep") == 0


@pytest.mark.parametrize("by", ["agent", "lead"])
def test_commits_on_no_branch_get_one_and_amended_ones_do_not(checkout: Path, by: str) -> None:
    """Whoever made them: the agent in its sandbox, or somebody else in the agent's folder."""
    worktree = made(checkout)
    folder = Path(worktree.path)
    run, committed = (agents_git, agents_commit) if by == "agent" else (git, commit)
    committed(folder, "first", "x\n")
    run(folder, "commit", "-q", "--amend", "-m", "again")
    run(folder, "checkout", "-q", "--detach")
    given_up = committed(folder, "given-up", "x\n")
    run(folder, "checkout", "-q", "--detach", worktree.branch)
    detached = committed(folder, "detached", "x\n")
    left = close(worktree)
    assert (left.why, left.rescued) == (None, ("codex/arch-2", "codex/arch-3"))
    assert {git(checkout, "rev-parse", branch) for branch in left.rescued} == {given_up, detached}
    assert branches(checkout) == ["codex/arch", "codex/arch-2", "codex/arch-3", "main"]


def test_a_stash_becomes_a_branch(checkout: Path) -> None:
    worktree = made(checkout)
    (Path(worktree.path) / "a").write_text("put away\n")
    agents_git(worktree.path, "stash")
    left = close(worktree)
    assert (left.why, left.rescued) == (None, ("codex/arch-2",))
    assert git(checkout, "show", "codex/arch-2:a") == "put away"


def test_git_lfs_takes_no_address_from_the_files(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked_by = checkout.parent / "asked"
    (checkout / ".gitattributes").write_text("* filter=lfs\n")
    (checkout / ".lfsconfig").write_text("[lfs]\n\turl = http://evil.example\n")
    git(checkout, "add", "-A")
    git(checkout, "commit", "-qm", "evil")
    settings = checkout.parent / "settings"
    git(checkout, "config", "--file", str(settings), "filter.lfs.smudge", f"git config lfs.url >>{asked_by}; cat")
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    monkeypatch.setenv("HOME", str(checkout.parent / "user"))
    (checkout.parent / "user").mkdir()
    shutil.copy(settings, checkout.parent / "user/.gitconfig")
    worktree = made(checkout)
    assert (Path(worktree.path) / "a").read_text() == "one\n"
    assert set(asked_by.read_text().split()) == {"file:///dev/null"}


def test_a_branch_that_is_gone_is_made_again_at_its_last_commit(checkout: Path) -> None:
    worktree = made(checkout)
    tip = agents_commit(worktree.path, "new", "x\n")
    left = close(worktree).worktree
    git(checkout, "branch", "-D", left.branch)
    again: Made = open_again(left)
    assert (again.worktree.branch, git(again.worktree.path, "rev-parse", "HEAD")) == ("codex/arch", tip)
    assert again.warnings == (
        f"The agent goes on in branch codex/arch, at commit {tip[:7]}: branch codex/arch is gone.",
    )


def test_a_branch_that_got_a_nested_repository_is_not_checked_out_again(checkout: Path) -> None:
    worktree = made(checkout)
    left = close(worktree)
    assert left.why is None
    git(checkout, "checkout", "-q", "codex/arch")
    git(checkout, "update-index", "--add", "--cacheinfo", f"160000,{worktree.base},evil")
    git(checkout, "commit", "-qm", "by the user")
    git(checkout, "checkout", "-q", "main")
    with pytest.raises(Refused, match="has submodules"):
        open_again(left.worktree)


def test_what_an_agent_s_own_repository_says_of_submodules_does_not_count(checkout: Path) -> None:
    """It replaces a tree of the user's by one without them, in a repository among its files."""
    git(checkout, "update-index", "--add", "--cacheinfo", f"160000,{git(checkout, 'rev-parse', 'HEAD')},evil")
    git(checkout, "commit", "-qm", "with a submodule")
    git(checkout, "rm", "-q", "--cached", "evil")
    git(checkout, "commit", "-qm", "without")
    nested = repository(Path(made(checkout).path) / "nested")
    (nested / ".git/objects/info/alternates").write_text(f"{checkout}/.git/objects\n")
    git(nested, "checkout", "-q", "--detach", git(checkout, "rev-parse", "HEAD~"))
    git(nested, "checkout", "-qb", "evil")
    git(nested, "replace", "HEAD^{tree}", git(checkout, "rev-parse", "HEAD^{tree}"))
    with pytest.raises(Refused, match="has submodules"):
        make(WantedWorktree("codex:next1", "next", str(nested), str(checkout.parent / "state")))


def test_a_repository_that_is_gone_takes_nothing_with_it(checkout: Path) -> None:
    worktree = made(checkout)
    shutil.rmtree(checkout / ".git")
    assert "is gone" in (close(worktree).why or "")
    assert (Path(worktree.path) / "a").exists()


def test_a_worktree_of_an_earlier_version_is_left_alone(checkout: Path) -> None:
    worktree = replace(made(checkout), folder="")
    assert "earlier version" in (close(worktree).why or "")
    with pytest.raises(Refused, match="earlier version"):
        open_again(worktree)
    assert (Path(worktree.path) / "a").exists()


def test_no_hook_or_filter_of_a_repository_runs(checkout: Path) -> None:
    """They may be scripts among the files of the checkout, which other agents write."""
    commit(checkout, ".gitattributes", "* filter=evil diff=evil\n")
    damage = checkout.parent / "damage"
    git(checkout, "config", "core.hooksPath", ".husky")
    for folder in (checkout / ".git/hooks", checkout / ".husky"):
        folder.mkdir(exist_ok=True)
        for hook in ("post-checkout", "reference-transaction", "post-index-change"):
            (folder / hook).write_text(f"#!/bin/sh\necho hook >>{damage}\n")
            (folder / hook).chmod(0o755)
    for key in ("filter.evil.smudge", "filter.evil.clean", "filter.a=b.smudge"):
        git(checkout, "config", key, f"echo filter >>{damage}; cat")
    git(checkout, "config", "core.fsmonitor", f"echo monitor >>{damage}; false")
    git(checkout, "config", "hook.evil.command", f"echo hook >>{damage}")
    git(checkout, "config", "--add", "hook.evil.event", "reference-transaction")
    worktree = made(checkout)
    agents_commit(worktree.path, "first", "x\n")
    publish(worktree)
    assert close(worktree).why is None
    assert not damage.exists()


@pytest.mark.parametrize("link", ["logs/refs/heads/codex/arch", "logs/refs/heads/codex", "logs/refs/heads", "logs"])
def test_a_log_that_is_a_link_is_not_written(checkout: Path, link: str) -> None:
    """Whoever has packed the repository may have put a link there, and his name into its settings."""
    outside = checkout.parent / "outside"
    outside.mkdir()
    end = "logs/refs/heads/codex/arch".removeprefix(link)
    victim = outside / end.removeprefix("/") if end else outside / ".bashrc"
    victim.parent.mkdir(parents=True, exist_ok=True)
    victim.write_text("precious\n")
    git(checkout, "config", "user.name", "$(touch mark)")
    path = checkout / ".git" / link
    shutil.rmtree(path, ignore_errors=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(outside if end else victim)
    worktree = made(checkout)
    agents_commit(worktree.path, "first", "x\n")
    assert publish(worktree).trouble is None
    agents_git(worktree.path, "branch", "-m", "renamed")
    assert publish(worktree).worktree.branch == "codex/renamed"
    assert close(worktree).why is None
    assert victim.read_text() == "precious\n"


@pytest.mark.parametrize("link", ["refs/heads/codex", "refs/heads"])
def test_a_folder_of_branches_that_is_a_link_is_named(checkout: Path, link: str) -> None:
    outside = checkout.parent / "outside"
    path = checkout / ".git" / link
    path.mkdir(exist_ok=True)
    path.rename(outside)
    path.symlink_to(outside)
    with pytest.raises(GitFailed, match="is a link"):
        made(checkout)
    assert not (outside / "arch").exists()
    assert not (outside / "codex").exists()
