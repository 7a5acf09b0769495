"""What a turn has changed, by whatever means and with whatever names."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from codex_mcp.base.errors import Refused
from codex_mcp.base.git import position_of
from codex_mcp.git.changes import ChangeKind, lines_of, read_changes
from codex_mcp.git.diffs import Wanted, diff_of, remote_commit
from codex_mcp.git.looking import MOST_FILES, changed_since, work_since
from codex_mcp.git.running import Git, GitFailed
from codex_mcp.git.start import StartPoint
from codex_mcp.mcp.tools.review_checks import check_review
from codex_mcp.wire.app.requests import BaseBranch, UncommittedChanges
from tests.support.repositories import commit, git, repository

ODD = b'odd "name"\n\xff'


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    files = {"a": "1\n2\n", "gone": "x\n", "mode": "x\n", "moved": "1\n2\n3\n", "dirty": "x\n", "committed": "x\n"}
    root = repository(tmp_path / "repo", **files)
    (root / "dirty").write_text("changed before the turn\n")
    (root / "before").write_text("untracked before the turn\n")
    git(root, "pack-refs", "--all")
    return root


def begun(checkout: Path) -> StartPoint:
    """A turn begins, some time after the last change: file times are counted in steps of some milliseconds."""
    position = position_of(str(checkout / "."))
    assert position is not None
    latest = max(os.lstat(path).st_ctime_ns for path in checkout.rglob("*") if ".git" not in path.parts)
    return StartPoint(position, max(time.time_ns(), latest) + 50_000_000)


def home_of(start: StartPoint) -> str:
    """Codex's home, beside the checkout."""
    return f"{start.position.root}/../home"


def changes(start: StartPoint) -> dict[bytes, tuple[str, int | None, int | None]]:
    return {each.path: (each.kind, each.added, each.removed) for each in changed_since(start, home_of(start)).files}


def until(start: StartPoint) -> None:
    """Let the clock pass the beginning of the turn."""
    while time.time_ns() < start.at:
        os.sched_yield()


def test_every_kind_of_change_is_found_and_earlier_ones_are_not(checkout: Path) -> None:
    start = begun(checkout)
    until(start)
    (checkout / "a").write_text("1\n3\n4\n")
    (checkout / "gone").unlink()
    (checkout / "mode").chmod(0o755)
    git(checkout, "mv", "moved", "here")
    (checkout / "binary").write_bytes(b"\0\1")
    (checkout / "link").symlink_to("a")
    with open(os.path.join(os.fsencode(checkout), ODD), "w") as file:
        file.write("1\n2")
    commit(checkout, "committed", "x\ny\n")
    found = changes(start)
    assert found.pop(b"dirty", None) is None
    assert found == {
        b"a": ("update", 2, 1),
        b"gone": ("delete", 0, 1),
        b"mode": ("update", 0, 0),
        b"moved": ("delete", 0, 3),
        b"here": ("add", 3, 0),
        b"binary": ("add", None, None),
        b"link": ("add", None, None),
        ODD: ("add", 2, 0),
        b"committed": ("update", 1, 0),
    }


def test_a_long_list_is_cut(checkout: Path) -> None:
    start = begun(checkout)
    until(start)
    for number in range(MOST_FILES + 1):
        (checkout / f"n{number}").touch()
    seen = changed_since(start, home_of(start))
    assert (len(seen.files), seen.is_cut) == (MOST_FILES, True)


def test_without_a_commit_only_new_files_are_found(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    start = begun(tmp_path) if any(tmp_path.glob("[!.]*")) else StartPoint(position_of(str(tmp_path)), 0)  # type: ignore[arg-type]
    (tmp_path / "a").write_text("x\n")
    assert changes(start) == {b"a": ("add", 1, 0)}


def test_work_counts_commits_and_names_the_branch(checkout: Path) -> None:
    base = git(checkout, "rev-parse", "HEAD")
    commit(checkout, "a", "1\n")
    work = work_since(str(checkout), base, str(checkout.parent / "home"))
    assert work is not None
    assert (work.branch, work.commits, work.diffstat) == (
        "main",
        1,
        "2 files changed, 1 insertion(+), 2 deletions(-)",
    )
    assert work.log[0].endswith(" adds a")
    git(checkout, "checkout", "-q", "--detach")
    detached = work_since(str(checkout), base, str(checkout.parent / "home"))
    assert detached is not None
    assert detached.branch == git(checkout, "rev-parse", "HEAD")[:7]
    assert work_since(str(checkout.parent), base, str(checkout.parent / "home")) is None


def test_a_diff_has_new_files_renames_and_binaries_and_can_be_applied(checkout: Path, tmp_path: Path) -> None:
    git(checkout, "mv", "moved", "here")
    (checkout / "binary").write_bytes(b"\0\1")
    (checkout / 'q"uote').write_text("x\n")
    home = str(tmp_path / "home")
    before = (checkout / ".git/index").read_bytes()
    found = diff_of(str(checkout), Wanted(), 1 << 20, home)
    assert "rename from moved\nrename to here" in found.text
    assert 'b/q\\"uote' in found.text
    assert "+untracked before the turn" in found.text
    assert "Binary files /dev/null and b/binary differ" in found.text
    assert (checkout / ".git/index").read_bytes() == before
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(checkout), str(clone))
    subprocess.run(["git", "apply", "--exclude=binary"], cwd=clone, check=True, input=found.text, text=True)
    assert (clone / "here").read_text() == "1\n2\n3\n"
    some = diff_of(str(checkout), Wanted(paths=["dirty"], is_stat=True), 1 << 20, home)
    assert (some.text.count("|"), some.is_cut) == (1, False)
    assert diff_of(str(checkout), Wanted(paths=[]), 1, home).text == ""
    cut = diff_of(str(checkout), Wanted(), 200, home)
    assert cut.is_cut
    assert found.text.startswith(cut.text)
    with pytest.raises(Refused, match="is not in a git repository"):
        diff_of(str(tmp_path), Wanted(), 1, home)
    with pytest.raises(Refused, match="has no commit 1234"):
        diff_of(str(checkout), Wanted("1234"), 1, home)


def test_the_nearest_commit_of_a_remote_is_found(checkout: Path, tmp_path: Path) -> None:
    assert remote_commit(str(tmp_path)) is None
    assert remote_commit(str(checkout)) is None
    first = git(checkout, "rev-parse", "HEAD")
    second = commit(checkout, "a", "two\n")
    for name in ("fork", "origin"):
        git(checkout, "remote", "add", name, str(tmp_path / name))
    git(checkout, "update-ref", "refs/remotes/origin/main", first)
    assert remote_commit(str(checkout)) == first
    git(checkout, "update-ref", "refs/remotes/fork/main", second)
    assert remote_commit(str(checkout)) == second
    git(checkout, "checkout", "-q", "-b", "side")
    third = commit(checkout, "a", "three\n")
    assert remote_commit(str(checkout)) == second
    git(checkout, "update-ref", "refs/remotes/origin/other", third)
    assert remote_commit(str(checkout)) == third
    git(checkout, "checkout", "-q", "--orphan", "new")
    assert remote_commit(str(checkout)) is None


def test_lists_of_git_are_read() -> None:
    listed = b":100644 000000 a b D\0gone\0:000000 120000 a b A\0l\tink\00\t3\tgone\0-\t-\tl\tink\0"
    assert [(each.path, each.kind, each.removed) for each in read_changes(listed)] == [
        (b"gone", ChangeKind.DELETE, 3),
        (b"l\tink", ChangeKind.ADD, None),
    ]
    assert [lines_of(text) for text in (b"", b"a", b"a\n", b"a\nb", b"\0")] == [0, 1, 1, 2, None]


def test_a_git_that_takes_too_long_is_stopped(checkout: Path) -> None:
    waits = f"alias.wait=!{sys.executable} -c 'import time; time.sleep(99)'"
    with pytest.raises(GitFailed, match=r"took longer than 0\.2 s"):
        Git.sealed(str(checkout), {}, {}).run("-c", waits, "wait", patience=0.2)
    with pytest.raises(GitFailed, match="cannot run git"):
        Git(str(checkout / "nowhere")).run("rev-parse")


def test_many_errors_of_one_kind_are_shortened_and_a_full_disk_is_named(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """git says of each file that it cannot write it, and never why."""
    fails = "alias.fail=!for i in $(seq 25); do echo unable to write file $i >&2; done; exit 1"
    words = Git.sealed(str(checkout), {}, {}).run("-c", fails, "fail").errors
    assert words.count("unable to write file") == 5
    assert "space" not in words
    full = os.statvfs_result((4096, 4096, 1000, 0, 0, 1000, 0, 0, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda _: full)
    assert Git.sealed(str(checkout), {}, {}).run("-c", fails, "fail").errors.endswith("No space is left on the disk.")


@pytest.mark.parametrize("place", ["submodule", "repository", "included"])
def test_no_setting_of_a_repository_or_of_a_submodule_runs_a_program(
    checkout: Path, tmp_path: Path, place: str
) -> None:
    mark = f"touch {tmp_path}/mark"
    inner = repository(tmp_path / "inner", x="1\n")
    git(checkout, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "sub")
    git(checkout, "commit", "-qm", "with a submodule")
    git(checkout, "config", "diff.submodule", "diff")
    commit(checkout / "sub", "x", "2\n")
    (checkout / "sub/x").write_text("3\n")
    (checkout / "a").write_text("changed\n")
    for folder in (checkout, checkout / "sub"):
        (folder / ".gitattributes").write_text("* filter=x diff=x merge=x\n")
    files = {
        "submodule": checkout / ".git/modules/sub/config",
        "repository": checkout / ".git/config",
        "included": checkout / ".git/more",
    }
    if place == "included":
        git(checkout, "config", "include.path", "more")
    with open(files[place], "a") as file:
        for key in ("fsmonitor", "sshCommand", "pager", "editor", "alternateRefsCommand", "askPass", "gitProxy"):
            file.write(f"[core]\n\t{key} = {mark}\n")
        file.write(f'[filter "x"]\n\tclean = {mark}; cat\n\tsmudge = {mark}; cat\n\tprocess = {mark}\n')
        file.write(
            f'[diff]\n\texternal = {mark}\n\tsubmodule = diff\n[diff "x"]\n\ttextconv = {mark}\n\tcommand = {mark}\n'
        )
        for event in ("post-index-change", "reference-transaction", "pre-auto-gc"):
            file.write(f'[hook "on-{event}"]\n\tevent = {event}\n\tcommand = {mark}\n')
        file.write(f"[gpg]\n\tprogram = {mark}\n[log]\n\tshowSignature = true\n[credential]\n\thelper = !{mark}\n")
    start = begun(checkout)
    base = git(checkout, "rev-parse", "HEAD~1")
    for wanted in (Wanted(), Wanted(is_stat=True), Wanted(base), Wanted(base, until="HEAD")):
        diff_of(str(checkout), wanted, 1 << 20, str(tmp_path / "home"))
    changed_since(start, home_of(start))
    work_since(str(checkout), base, str(checkout.parent / "home"))
    check_review(str(checkout), UncommittedChanges(), str(tmp_path / "home"))
    check_review(str(checkout), BaseBranch("main"), str(tmp_path / "home"))
    assert not (tmp_path / "mark").exists()


def test_a_submodule_whose_git_folder_was_replaced_runs_nothing(checkout: Path, tmp_path: Path) -> None:
    inner = repository(tmp_path / "inner", x="1\n")
    git(checkout, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "sub")
    git(checkout, "commit", "-qm", "with a submodule")
    (checkout / "sub/.git").unlink()
    shutil.copytree(checkout / ".git/modules/sub", checkout / "sub/.git")
    git(checkout, "config", "--file", "sub/.git/config", "--unset", "core.worktree")
    git(checkout / "sub", "config", "filter.x.clean", f"touch {tmp_path}/mark; cat")
    git(checkout / "sub", "config", "core.fsmonitor", f"touch {tmp_path}/mark; false")
    (checkout / "sub/.git/info/attributes").write_text("* filter=x\n")
    (checkout / "sub/x").write_text("2\n")  # as long as before, so that git has to read it
    (checkout / "new file").write_text("new\n")
    (checkout / ":(top)odd*").write_text("odd\n")
    start = begun(checkout)
    for wanted in (Wanted(), Wanted(is_stat=True)):
        shown = diff_of(str(checkout), wanted, 1 << 20, str(tmp_path / "home")).text
        assert "new file" in shown
        assert "odd*" in shown
    changed_since(start, home_of(start))
    work_since(str(checkout), git(checkout, "rev-parse", "HEAD~1"), str(checkout.parent / "home"))
    check_review(str(checkout), UncommittedChanges(), str(tmp_path / "home"))
    assert not (tmp_path / "mark").exists()
