"""git on files that anybody may have written: the same answers as git's own, and nothing that a repository chooses."""

import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from codex_mcp.base.git import position_of
from codex_mcp.git.comparing import comparing
from codex_mcp.git.diffs import Wanted, diff_of
from codex_mcp.git.guard import LOOKUPS
from codex_mcp.git.running import Git, GitFailed
from tests.support.repositories import git, repository


def shown(folder: Path, home: Path, *words: str) -> str:
    position = position_of(str(folder))
    assert position is not None
    with comparing(position, str(home)) as looking:
        return looking.ask(*words).decode()


PROGRAM = re.compile(
    "askpass|browser|clean|cmd|command|driver|editor|external|filter|fsmonitor|helper|hook|man|pack|pager|path|process"
    "|program|proxy|smudge|ssh|textconv|tool|url|vcs|verify|viewer"
)
"""In the names of settings whose value may be a program, and of some others."""

STATUS = ("status", "--porcelain")


def unchanged(folder: Path) -> None:
    """Make git read all files again."""
    for path in folder.rglob("*"):
        if path.is_file() and ".git" not in path.parts:
            os.utime(path, (0, 0))


@pytest.mark.parametrize("kind", ["plain", "sha256", "worktree", "packed", "split", "empty", "crlf", "excluded"])
def test_the_answers_are_those_of_git_itself(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "repo"
    if kind == "sha256":
        folder.mkdir()
        git(folder, "init", "-q", "--object-format=sha256", "-b", "main")
    if kind == "empty":
        folder.mkdir()
        git(folder, "init", "-q")
    else:
        repository(folder, **{"a": "one\n", "b": "two\n", "sub/c": "three\n"})
    match kind:
        case "worktree":
            git(folder, "worktree", "add", "-q", "../other")
            folder = tmp_path / "other"
        case "packed":
            git(folder, "gc", "-q")
        case "split":
            git(folder, "update-index", "--split-index")
        case "crlf":
            git(folder, "config", "core.autocrlf", "true")
            (folder / "a").write_bytes(b"one\r\n")
        case "excluded":
            (folder / ".git/info/exclude").write_text("hidden\n")
            (folder / "hidden").write_text("x\n")
    unchanged(folder)
    expected = git(folder, *STATUS)
    assert shown(folder, tmp_path / "home", *STATUS).strip() == expected
    (folder / "new").write_text("new\n")
    if kind != "empty":
        (folder / "b").write_text("2wo\n")
        (folder / "sub/c").unlink()
    expected = git(folder, *STATUS)
    assert "?? new" in expected
    assert shown(folder, tmp_path / "home", *STATUS).strip() == expected.strip()
    assert list((tmp_path / "home").rglob("*")) == []


def write_all_settings(folder: Path, command: str) -> set[str]:
    """Give every setting of the installed git that may name a program this command as its value."""
    listed = subprocess.run(["git", "help", "--config"], check=True, capture_output=True, text=True).stdout.split()
    keys = {re.sub(r"<[^>]*>|\*", "x", key).lower() for key in listed} | {"filter.x.process", "hook.x.command"}
    keys = {key for key in keys if re.fullmatch(r"(?!include|extensions)[a-z0-9-]+(\.x)*\.[a-z][a-z0-9-]*", key)}
    keys = {key for key in keys if PROGRAM.search(key.rpartition(".")[2]) or key.startswith(("pager.", "alias."))}
    file, before = folder / ".git/config", (folder / ".git/config").read_text()
    while True:
        lines = [before]
        for key in sorted(keys):
            section, _, name = key.rpartition(".")
            first, is_long, rest = section.partition(".")
            value = f"{command}; cat" if first == "filter" else command
            lines.append(f'[{first} "{rest}"]' if is_long else f"[{first}]")
            lines.append(f'\t{name} = "{value}"')
        file.write_text("\n".join(lines) + "\n")
        refused: set[str] = set()
        for words in (("rev-parse", "HEAD"), ("cat-file", "-e", "HEAD"), ("diff", "HEAD"), STATUS):
            ran = subprocess.run(["git", *words], check=False, capture_output=True, text=True, cwd=folder)
            found = set(re.findall(r"([a-z0-9-]+\.[a-z0-9.-]+)", ran.stderr.lower())) & keys
            assert found or ran.returncode == 0, ran.stderr
            refused |= found
        if not refused:
            return keys
        keys -= refused


def test_no_setting_that_git_has_runs_a_program(tmp_path: Path) -> None:
    folder = repository(tmp_path / "repo", **{"a": "one\n", ".gitattributes": "* filter=x diff=x merge=x\n"})
    mark = tmp_path / "mark"
    unchanged(folder)
    keys = write_all_settings(folder, f"touch {mark}")
    assert {"filter.x.clean", "diff.x.textconv", "core.fsmonitor", "gpg.program", "core.pager"} <= keys
    assert mark.exists(), "these settings run programs in a git that reads them"
    mark.unlink()
    unchanged(folder)
    (folder / "b").write_text("two\n")
    for words in (STATUS, ("diff", "HEAD"), ("ls-files", "--others", "--exclude-standard"), ("log", "-p", "--oneline")):
        shown(folder, tmp_path / "home", *words)
    assert "+two" in diff_of(str(folder), Wanted(), 1 << 20, str(tmp_path / "home")).text
    assert not mark.exists()


def test_what_looks_at_files_never_reads_a_repository_s_settings(tmp_path: Path) -> None:
    plain = Git(str(repository(tmp_path / "repo")))
    for verb in ("status", "diff", "add", "ls-files", "checkout", "log", "-c"):
        assert verb not in LOOKUPS
        with pytest.raises(ValueError, match="it must be sealed"):
            plain.run(verb)


def test_a_filter_of_the_user_runs_but_not_among_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = repository(tmp_path / "repo", **{"a": "one\n", ".gitattributes": "* filter=mine\n"})
    settings = tmp_path / "settings"
    git(folder, "config", "--file", str(settings), "filter.mine.clean", f"python3 -m tr_up; pwd >{tmp_path}/where")
    git(folder, "config", "--file", str(settings), "filter.mine.required", "true")
    (folder / "tr_up.py").write_text(f"open('{tmp_path}/mark', 'w')\n")
    installed = tmp_path / "installed"
    installed.mkdir()
    (installed / "tr_up.py").write_text("import sys\nsys.stdout.write(sys.stdin.read().upper())\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "")
    monkeypatch.delenv("GIT_CONFIG_GLOBAL")
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.setenv("PYTHONPATH", str(installed))
    (tmp_path / "user").mkdir()
    shutil.copy(settings, tmp_path / "user/.gitconfig")
    (folder / "a").write_text("two\n")
    text = diff_of(str(folder), Wanted(paths=["a"]), 1 << 20, str(tmp_path / "home")).text
    assert "+TWO" in text
    assert not (tmp_path / "mark").exists()
    assert Path((tmp_path / "where").read_text().strip()).is_relative_to(tmp_path / "home")


@pytest.mark.parametrize("name", [".gitignore", ".git/info/exclude"])
def test_a_pipe_among_the_lists_of_ignored_files_is_told(tmp_path: Path, name: str) -> None:
    folder = repository(tmp_path / "repo")
    (folder / "new").write_text("new\n")
    path = folder / name
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    assert stat.S_ISFIFO(path.stat().st_mode)
    with pytest.raises(GitFailed, match=r"took longer than|exclude: it is not a regular file"):
        diff_of(str(folder), Wanted(), 1 << 20, str(tmp_path / "home"))


def test_a_bare_repository_among_the_files_hides_nothing(tmp_path: Path) -> None:
    folder = repository(tmp_path / "repo", **{"sub/a": "one\n"})
    git(folder, "init", "-q", "--bare", "sub")
    (folder / "sub/a").write_text("two\n")
    assert "+two" in diff_of(str(folder / "sub"), Wanted(), 1 << 20, str(tmp_path / "home")).text
