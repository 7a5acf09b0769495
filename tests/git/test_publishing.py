"""What an agent commits reaches the user's repository, and nothing else of what it writes is obeyed or followed."""

import contextlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from codex_mcp.base.errors import Refused
from codex_mcp.git.diffs import Wanted, diff_of
from codex_mcp.git.looking import work_since
from codex_mcp.git.making import WantedWorktree, make
from codex_mcp.git.publishing import publish
from codex_mcp.git.removing import close, inspect, open_again
from codex_mcp.git.running import GitFailed
from codex_mcp.git.worktree import Worktree
from tests.support.repositories import agents_commit, agents_git, branches, commit, git, repository


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return repository(tmp_path / "repo", **{"a": "one\n", "sub/b": "two\n"})


@pytest.fixture
def worktree(checkout: Path) -> Worktree:
    return make(WantedWorktree("codex:arch1", "arch", str(checkout), str(checkout.parent / "state"))).worktree


def test_commits_branches_and_renames_of_an_agent_appear_in_the_user_s_repository(
    checkout: Path, worktree: Worktree
) -> None:
    first = agents_commit(worktree.path, "first", "x\n")
    assert git(checkout, "rev-parse", "codex/arch") == worktree.base
    assert publish(worktree).warnings == ()
    assert git(checkout, "rev-parse", "codex/arch") == first
    agents_git(worktree.path, "checkout", "-qb", "fix/login")
    second = agents_commit(worktree.path, "second", "x\n")
    agents_git(worktree.path, "tag", "mine")
    published = publish(worktree).worktree
    assert (published.branch, published.tip) == ("codex/fix-login", second)
    assert git(worktree.path, "status", "-sb") == "## codex/fix-login"
    agents_git(worktree.path, "branch", "-m", "better")
    assert publish(worktree).worktree.branch == "codex/better"
    assert branches(checkout) == ["codex/arch", "codex/better", "main"]
    agents_git(worktree.path, "checkout", "-q", "--detach", "main")
    publish(worktree)
    assert git(worktree.path, "status", "-sb") == "## HEAD (no branch)"
    assert git(checkout, "fsck", "--strict") == ""


def test_a_branch_that_git_cannot_make_is_left_out_and_all_others_are_published(
    checkout: Path, worktree: Worktree
) -> None:
    first = agents_commit(worktree.path, "first", "x\n")
    long = f"{'b' * 200}/{'c' * 200}"
    agents_git(worktree.path, "checkout", "-qb", long)
    lost = agents_commit(worktree.path, "second", "x\n")
    agents_git(worktree.path, "branch", "other", "HEAD~")
    agents_git(worktree.path, "checkout", "-qb", "last")
    last = agents_commit(worktree.path, "third", "x\n")
    agents_git(worktree.path, "checkout", "-q", long)
    published = publish(worktree)
    assert published.trouble is None
    assert [warning.partition(" is not in ")[2] for warning in published.warnings] == [
        f"{checkout}: git cannot make a branch of that name there; rename it."
    ]
    assert git(checkout, "rev-parse", "codex/arch", "codex/last").split() == [first, last]
    assert git(worktree.path, "rev-parse", "HEAD") == lost
    agents_git(worktree.path, "branch", "-m", "short")
    renamed = publish(worktree)
    assert (renamed.warnings, renamed.worktree.branch) == ((), "codex/short")
    assert git(checkout, "rev-parse", "codex/short") == lost


def test_a_rewritten_branch_moves_and_other_agents_and_the_user_see_their_own(
    checkout: Path, worktree: Worktree
) -> None:
    agents_commit(worktree.path, "first", "x\n")
    publish(worktree)
    agents_git(worktree.path, "commit", "-q", "--amend", "-m", "again")
    publish(worktree)
    assert git(checkout, "log", "--format=%s", "main..codex/arch") == "again"
    agents_git(worktree.path, "reset", "-q", "--hard", "main")
    publish(worktree)
    assert git(checkout, "rev-parse", "codex/arch") == worktree.base
    assert git(worktree.path, "status", "--porcelain") == ""


@pytest.mark.parametrize("how", ["moved", "checked out", "deleted"])
def test_a_branch_that_the_user_has_taken_is_never_changed(checkout: Path, worktree: Worktree, how: str) -> None:
    agents_commit(worktree.path, "first", "x\n")
    publish(worktree)
    match how:
        case "moved":
            git(checkout, "checkout", "-q", "codex/arch")
            taken = commit(checkout, "by-user", "x\n")
            git(checkout, "checkout", "-q", "main")
        case "checked out":
            git(checkout, "checkout", "-q", "codex/arch")
            taken = git(checkout, "rev-parse", "HEAD")
        case _:
            git(checkout, "branch", "-D", "codex/arch")
    second = agents_commit(worktree.path, "second", "x\n")
    published = publish(worktree)
    if how == "deleted":
        assert (published.worktree.branch, published.warnings) == ("codex/arch", ())
        return
    assert git(checkout, "rev-parse", "codex/arch") == taken
    assert git(checkout, "rev-parse", "codex/arch-2") == second
    assert published.worktree.branch == "codex/arch-2"
    assert published.warnings[0].startswith("The agent's branch codex/arch is codex/arch-2 in ")
    third = agents_commit(worktree.path, "third", "x\n")
    assert publish(worktree).warnings == ()
    assert git(checkout, "rev-parse", "codex/arch-2") == third


def test_what_a_lead_commits_in_the_folder_of_an_agent_counts(checkout: Path, worktree: Worktree) -> None:
    tip = commit(Path(worktree.path), "by-lead", "x\n")
    assert git(checkout, "rev-parse", "codex/arch") == tip
    assert inspect(worktree).changed == 0
    left = close(worktree)
    assert (left.why, left.worktree.tip) == (None, tip)


def test_files_that_somebody_has_removed_take_no_commit_with_them(checkout: Path, worktree: Worktree) -> None:
    tip = agents_commit(worktree.path, "first", "x\n")
    shutil.rmtree(worktree.path)
    left = close(worktree)
    assert (left.why, git(checkout, "rev-parse", "codex/arch")) == (None, tip)
    assert git(open_again(left.worktree).worktree.path, "rev-parse", "HEAD") == tip


def test_a_damaged_worktree_does_not_stop_other_agents(checkout: Path, worktree: Worktree) -> None:
    shutil.rmtree(worktree.view)
    for name in ("commondir", "HEAD"):
        path = own(worktree) / name
        path.write_text("x")
        path.chmod(0)
    other = make(WantedWorktree("codex:bee1", "bee", str(checkout), str(checkout.parent / "state"))).worktree
    tip = agents_commit(other.path, "first", "x\n")
    publish(other)
    assert git(checkout, "rev-parse", "codex/bee") == tip
    assert close(other).why is None


def own(worktree: Worktree) -> Path:
    return Path(worktree.own_git)


def evil_config(worktree: Worktree, mark: Path) -> str:
    text = "".join(
        f"[{section}]\n\t{key} = {'true' if key == 'required' else f'touch {mark}; cat'}\n"
        for section, key in [
            *((f'filter "{name}"', key) for name in ("x", "lfs") for key in ("clean", "smudge", "process")),
            *(("core", key) for key in ("fsmonitor", "sshCommand", "pager", "editor", "alternateRefsCommand")),
            *(("diff", "external"), ('diff "x"', "textconv"), ('diff "x"', "command"), ('merge "x"', "driver")),
            *(("gpg", "program"), ("credential", "helper"), ('hook "x"', "command"), ('hook "y"', "command")),
        ]
    )
    hooks = own(worktree) / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-checkout", "reference-transaction", "post-index-change", "pre-commit", "fsmonitor-watchman"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {mark}\n")
        (hooks / name).chmod(0o755)
    return f"{text}[core]\n\thooksPath = {hooks}\n[diff]\n\tsubmodule = diff\n" + "".join(
        f'[hook "x"]\n\tevent = {event}\n' for event in ("post-index-change", "reference-transaction", "pre-commit")
    )


def with_config(worktree: Worktree, mark: Path) -> None:
    with open(own(worktree) / "config", "a") as file:
        file.write(evil_config(worktree, mark))
    for name in (".gitattributes", "sub/.gitattributes"):
        (Path(worktree.path) / name).write_text("* filter=x diff=x merge=x\n")
    (own(worktree) / "info/attributes").write_text("* filter=x diff=x merge=x\n")


def with_commondir(worktree: Worktree, mark: Path) -> None:
    evil = own(worktree) / "evil"
    shutil.copytree(own(worktree), evil)
    (evil / "config").write_text(evil_config(worktree, mark))
    (own(worktree) / "commondir").write_text(str(evil))
    (own(worktree) / "config.worktree").write_text(evil_config(worktree, mark))


def with_nested_repository(worktree: Worktree, mark: Path) -> None:
    evil = repository(Path(worktree.path) / "evil")
    with open(evil / ".git/config", "a") as file:
        file.write(evil_config(worktree, mark))
    (evil / ".gitattributes").write_text("* filter=x diff=x\n")
    (evil / "a").write_text("changed\n")
    agents_git(worktree.path, "add", "evil")
    agents_git(worktree.path, "commit", "-qm", "a nested repository")


def with_options(worktree: Worktree, mark: Path) -> None:
    line = f"0 --output={mark} x <x> 1 +0000\tx\n"
    for name in ("logs/HEAD", "logs/refs/stash", "logs/refs/heads/codex/arch"):
        path = own(worktree) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(line)
    (own(worktree) / "HEAD").write_text(f"--output={mark}\n")
    (own(worktree) / "packed-refs").write_text(f"--output={mark} refs/heads/x\n")
    (own(worktree) / "refs/heads/--output=x").write_text(worktree.base)


def with_links(worktree: Worktree, mark: Path) -> None:
    for name in ("refs/heads/codex/next", "logs/refs/heads/codex/next", "refs/heads/z", "index.lock", "HEAD.lock"):
        path = own(worktree) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(mark)
    for name in ("logs", "refs"):
        os.rename(own(worktree) / name, own(worktree) / f"{name}.old")
        (own(worktree) / name).symlink_to(mark.parent)


def with_endless_files(worktree: Worktree, mark: Path) -> None:
    for name in ("HEAD", "packed-refs", "config.worktree", "shallow", "index"):
        (own(worktree) / name).unlink(missing_ok=True)
    os.mkfifo(own(worktree) / "HEAD")
    (own(worktree) / "packed-refs").symlink_to("/dev/zero")
    os.mkfifo(own(worktree) / "config.worktree")
    os.mkfifo(own(worktree) / "index")
    shutil.rmtree(own(worktree) / "logs", ignore_errors=True)
    (own(worktree) / "logs").mkdir()
    os.mkfifo(own(worktree) / "logs/HEAD")
    (own(worktree) / "refs/heads/endless").symlink_to("/dev/zero")
    os.mkfifo(own(worktree) / "refs/heads/fifo")


def without_objects(worktree: Worktree, mark: Path) -> None:
    shutil.rmtree(own(worktree) / "objects")
    (own(worktree) / "objects").symlink_to(mark.parent)


def with_pipe_as_alternates(worktree: Worktree, mark: Path) -> None:
    agents_commit(worktree.path, "first", "x\n")
    (own(worktree) / "objects/info/alternates").unlink()
    os.mkfifo(own(worktree) / "objects/info/alternates")


def with_pipe_as_pack(worktree: Worktree, mark: Path) -> None:
    agents_commit(worktree.path, "first", "x\n")
    (own(worktree) / f"objects/pack/pack-{'1' * 40}.pack").touch()
    os.mkfifo(own(worktree) / f"objects/pack/pack-{'1' * 40}.idx")


def with_pipe_as_object(worktree: Worktree, mark: Path) -> None:
    commit = agents_commit(worktree.path, "first", "x\n")
    path = own(worktree) / "objects" / commit[:2] / commit[2:]
    path.unlink()
    os.mkfifo(path)


def with_other_alternates(worktree: Worktree, mark: Path) -> None:
    agents_commit(worktree.path, "first", "x\n")
    with (own(worktree) / "objects/info/alternates").open("a") as file:
        file.write(f"{mark.parent}\n")


def with_false_objects(worktree: Worktree, mark: Path) -> None:
    """An object whose contents are not those of its id."""
    agents_commit(worktree.path, "first", "x\n")
    objects = own(worktree) / "objects"
    one, other = [agents_git(worktree.path, "rev-parse", name) for name in ("HEAD:first", "HEAD^{tree}")]
    target = objects / one[:2] / one[2:]
    target.unlink()
    shutil.copy(objects / other[:2] / other[2:], target)


def with_nothing(worktree: Worktree, mark: Path) -> None:
    shutil.rmtree(own(worktree))


Attack = Callable[[Worktree, Path], None]
UNREADABLE: list[Attack] = [with_pipe_as_alternates, with_pipe_as_pack, with_pipe_as_object, with_other_alternates]
ATTACKS: list[Attack] = [
    with_config,
    with_commondir,
    with_nested_repository,
    with_options,
    with_links,
    with_endless_files,
    without_objects,
    *UNREADABLE,
    with_false_objects,
    with_nothing,
]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_nothing_that_an_agent_writes_runs_or_is_followed_outside_of_its_sandbox(
    checkout: Path, worktree: Worktree, tmp_path: Path, attack: Attack
) -> None:
    """Every file of its repository, and every run of git outside of the sandbox: ours, Codex's, and the user's."""
    honest = agents_commit(worktree.path, "honest", "x\n")
    publish(worktree)
    victim = tmp_path / "victim"
    victim.mkdir()
    mark = victim / "mark"
    main = git(checkout, "rev-parse", "main")
    attack(worktree, mark)
    mark.unlink(missing_ok=True)  # what ran in the sandbox, as the agent's own git may
    (Path(worktree.path) / "a").write_text("changed\n")
    for act in (publish, inspect, close, open_again):
        with contextlib.suppress(GitFailed, Refused, OSError):
            act(worktree)
    for wanted in (Wanted(), Wanted(worktree.base), Wanted(worktree.base, is_stat=True)):
        diff_of(worktree.path, wanted, 1 << 20, str(tmp_path / "home"))
    work_since(worktree.path, worktree.base, str(tmp_path / "home"))
    for words in ("status", "diff", "diff HEAD", "log -p", "stash list", "add -A", "status", "reset -q", "gc -q"):
        git(worktree.path, *words.split())
    git(checkout, "-c", "diff.submodule=diff", "log", "-p", "--all")
    git(worktree.path, "-c", "diff.submodule=diff", "diff", "HEAD")
    close(worktree)
    assert list(victim.iterdir()) == []
    assert git(checkout, "rev-parse", "main") == main
    assert set(branches(checkout)) <= {"main", "codex/arch", "codex/arch-2", "codex/arch-3"}
    assert git(checkout, "fsck", "--strict", "--no-dangling") == ""
    assert git(checkout, "show", f"{honest}:honest") == "x"
    assert (Path(worktree.path) / "a").read_text() == "changed\n"


def test_a_nested_repository_of_the_user_s_history_is_not_checked_out(checkout: Path, tmp_path: Path) -> None:
    """The agent fills its folder with a repository of its own, whose settings `git add` would obey."""
    module, mark = repository(tmp_path / "module", b="x\n"), tmp_path / "mark"
    git(checkout, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(module), "evil")
    git(checkout, "commit", "-qm", "with a submodule")
    git(checkout, "rm", "-qrf", "evil", ".gitmodules")
    git(checkout, "commit", "-qm", "without")
    worktree = make(WantedWorktree("codex:arch1", "arch", str(checkout), str(tmp_path / "state"))).worktree
    agents_git(worktree.path, "checkout", "-q", "HEAD~")
    shutil.copytree(module, Path(worktree.path) / "evil", dirs_exist_ok=True)
    with open(Path(worktree.path) / "evil/.git/config", "a") as file:
        file.write(evil_config(worktree, mark))
    (Path(worktree.path) / "evil/.gitattributes").write_text("* filter=x diff=x\n")
    (Path(worktree.path) / "evil/b").write_text("changed\n")
    assert publish(worktree).trouble == "commits with a nested repository (a submodule), which are not taken over"
    for words in ("status", "diff HEAD", "add -A", "commit -qam all", "stash", "reset -q --hard"):
        git(worktree.path, *words.split(), check=False)
    assert not mark.exists()
    assert (close(worktree).why or "").endswith("which are not taken over")


@pytest.mark.parametrize("attack", UNREADABLE, ids=lambda attack: attack.__name__)
def test_git_never_reads_objects_for_which_it_would_wait(worktree: Worktree, tmp_path: Path, attack: Attack) -> None:
    attack(worktree, tmp_path / "mark")
    why = publish(worktree).trouble
    assert why is not None
    assert "is not what git writes there; delete it" in why
    assert (close(worktree).why or "").endswith("is not what git writes there; delete it")
    assert open_again(worktree).worktree.cwd == worktree.path


def test_objects_need_no_alternates_of_the_agent(checkout: Path, worktree: Worktree) -> None:
    """As after a repack of all objects."""
    agents_git(worktree.path, "repack", "-adq")
    (own(worktree) / "objects/info/alternates").unlink()
    tip = agents_commit(worktree.path, "first", "x\n")
    assert publish(worktree).trouble is None
    assert git(checkout, "rev-parse", "codex/arch") == tip
    assert close(worktree).why is None


def test_the_settings_of_the_user_s_repository_name_no_program_in_the_view(checkout: Path, tmp_path: Path) -> None:
    """Hooks and filters of a repository are often scripts in it, which the agent can write in its own copy."""
    git(checkout, "config", "core.hooksPath", ".husky")
    git(checkout, "config", "filter.x.clean", "./clean.sh")
    git(checkout, "config", "core.fsmonitor", "./clean.sh")
    git(checkout, "config", "remote.origin.url", "https://example.com/x.git")
    worktree = make(WantedWorktree("codex:arch1", "arch", str(checkout), str(tmp_path / "state"))).worktree
    folder = Path(worktree.path)
    (folder / ".husky").mkdir()
    for name in (".husky/post-index-change", ".husky/pre-commit", ".husky/reference-transaction", "clean.sh"):
        (folder / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/mark\ncat\n")
        (folder / name).chmod(0o755)
    (folder / ".gitattributes").write_text("* filter=x\n")
    (folder / "a").write_text("changed\n")
    git(folder, "status")
    git(folder, "diff")
    publish(worktree)
    inspect(worktree)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "all")
    assert close(worktree).why is None
    assert open_again(close(worktree).worktree).worktree.branch == "codex/arch"
    assert not (tmp_path / "mark").exists()
    assert git(folder, "remote", "get-url", "origin") == "https://example.com/x.git"
