"""The demo's own place, with real git and the real test."""

import os
import subprocess
from pathlib import Path

import pytest

from codex_mcp.base.errors import Refused
from codex_mcp.cli.demo.workshop import Check, open_workshop


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The user's, with the test's own folder as home."""
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "OPENAI_API_KEY": "sk-secret"}


def test_the_test_fails_until_the_program_is_mended(tmp_path: Path, environment: dict[str, str]) -> None:
    with open_workshop(environment, keep=False) as workshop:
        assert workshop.run_test() == Check(passed=False, last_line="FAILED (failures=1)")
        program = workshop.repository / "prices.py"
        program.write_text(program.read_text().replace("[1:]", ""))
        assert workshop.run_test() == Check(passed=True, last_line="OK")
    assert list(tmp_path.iterdir()) == []


def test_the_repository_is_clean_and_has_one_commit(environment: dict[str, str]) -> None:
    with open_workshop(environment, keep=False) as workshop:
        status, log = (
            subprocess.run(
                ["git", *words], cwd=workshop.repository, check=True, capture_output=True, text=True
            ).stdout.splitlines()
            for words in (["status", "--porcelain"], ["log", "--oneline"])
        )
    assert (status, len(log)) == ([], 1)


def test_nothing_of_the_users_environment_is_passed_on_but_how_to_find_and_read(environment: dict[str, str]) -> None:
    with open_workshop(environment, keep=False) as workshop:
        assert set(workshop.environment) == {
            *("PATH", "HOME", "CODEX_HOME", "TMPDIR", "GIT_CONFIG_NOSYSTEM", "PYTHONDONTWRITEBYTECODE")
        }
        assert workshop.environment["CODEX_HOME"] == str(workshop.codex_home)
        assert workshop.codex_home.is_dir()


def test_a_folder_that_is_kept_is_kept(tmp_path: Path, environment: dict[str, str]) -> None:
    with open_workshop(environment, keep=True) as workshop:
        pass
    assert workshop.folder.parent == tmp_path / ".codex/codex-mcp/demos"
    assert workshop.repository.is_dir()
    with open_workshop(environment, keep=False):
        pass
    assert workshop.repository.is_dir()


def test_a_test_without_end_has_failed(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codex_mcp.cli.demo.workshop.TEST_PATIENCE", 0.2)
    with open_workshop(environment, keep=False) as workshop:
        (workshop.repository / "prices.py").write_text("import time\ntime.sleep(60)\n")
        assert workshop.run_test() == Check(passed=False, last_line="not finished after 0 s")


def test_without_git_one_sentence_says_so(tmp_path: Path) -> None:
    with (
        pytest.raises(Refused, match="git is not on PATH; install git"),
        open_workshop({"PATH": "/nowhere", "HOME": str(tmp_path)}, keep=False),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_git_that_fails_is_quoted(tmp_path: Path) -> None:
    git = tmp_path / "git"
    git.write_text("#!/bin/sh\necho 'the disk is full' >&2\nexit 1\n")
    git.chmod(0o755)
    with (
        pytest.raises(Refused, match="git init failed: the disk is full"),
        open_workshop({"PATH": str(tmp_path), "HOME": str(tmp_path)}, keep=False),
    ):
        pass
    assert list(tmp_path.iterdir()) == [git]


def test_a_home_that_cannot_be_used_is_named(tmp_path: Path, environment: dict[str, str]) -> None:
    (tmp_path / ".codex").write_text("a file")
    with (
        pytest.raises(Refused, match=r"cannot make a folder to work in: .*/\.codex.*; set CODEX_HOME to a folder"),
        open_workshop(environment, keep=False),
    ):
        pass
