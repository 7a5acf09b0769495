"""The git that Codex finds first: what runs for Codex, and what for all others."""

import os
import subprocess
from pathlib import Path

import pytest

from codex_mcp.codex.starting.core_git import FOLDER, LOOKUPS, NOTHING, SCRIPT, core_variables
from tests.support.repositories import git, repository

CODEX = ("-c", "safe.bareRepository=explicit", "-c", "core.hooksPath=/dev/null")


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with a `git` that tells how it was called."""
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "git").write_text('#!/bin/sh\necho "$PWD" "$GIT_ALLOW_PROTOCOL" "$@"\n')
    (folder / "git").chmod(0o755)
    return folder


def called(home: Path, path: str, *words: str, cwd: str = "/") -> tuple[int, str]:
    done = subprocess.run(
        ["git", *words],
        check=False,
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**core_variables(str(home), path), "CODEX_HOME": str(home)},
    )
    return done.returncode, done.stdout.strip()


@pytest.mark.parametrize("verb", LOOKUPS)
def test_what_reads_references_and_settings_runs_without_a_way_to_the_network(
    tmp_path: Path, programs: Path, verb: str
) -> None:
    code, said = called(tmp_path, str(programs), *CODEX, verb, "x y")
    assert code == 0
    assert said.startswith("/ none -c core.hooksPath=/dev/null -c core.fsmonitor=false")
    assert said.endswith(f"{' '.join(CODEX)} {verb} x y")


def test_no_format_of_a_repository_verifies_signatures_with_its_program(tmp_path: Path) -> None:
    folder, mark = repository(tmp_path / "repo"), tmp_path / "mark"
    signed = git(folder, "cat-file", "commit", "HEAD").replace("\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n\n", 1)
    (tmp_path / "signed").write_text(f"{signed}\n")
    git(folder, "update-ref", "HEAD", git(folder, "hash-object", "-t", "commit", "-w", str(tmp_path / "signed")))
    (tmp_path / "gpg").write_text(f"#!/bin/sh\ntouch {mark}\n")
    (tmp_path / "gpg").chmod(0o755)
    git(folder, "config", "gpg.program", str(tmp_path / "gpg"))
    git(folder, "config", "format.pretty", "%G?")
    assert called(tmp_path, os.environ["PATH"], *CODEX, "log", "-1", cwd=str(folder))[1].startswith("commit ")
    assert not mark.exists()
    git(folder, "log", "-1")
    assert mark.exists()


@pytest.mark.parametrize(
    "words", [("status", "--porcelain"), ("diff",), ("--git-dir", "x", "status"), ("-C", "/", "add"), ()]
)
def test_what_looks_at_files_fails_for_codex_and_runs_for_others(
    tmp_path: Path, programs: Path, words: tuple[str, ...]
) -> None:
    assert called(tmp_path, str(programs), *CODEX, *words) == (1, "")
    assert called(tmp_path, str(programs), *words) == (0, " ".join(["/ ", *words]).rstrip())


def test_plugins_are_fetched_in_codex_s_home(tmp_path: Path, programs: Path) -> None:
    assert called(tmp_path, str(programs), *CODEX, "ls-remote", "x")[1].startswith(f"{tmp_path}  -c")
    inside = str(tmp_path / "plugins")
    assert called(tmp_path, str(programs), *CODEX, "-C", inside, "fetch")[1].endswith(f"-C {inside} fetch")
    assert called(tmp_path, str(programs), *CODEX, "-C", f"{tmp_path}-not", "fetch") == (1, "")
    for words in (("status", "--porcelain"), ("diff",), ("add", "x"), ("stash",), ("hash-object", "x"), ()):
        assert called(tmp_path, str(programs), *CODEX, *words, cwd=str(programs)) == (1, "")
        assert called(tmp_path, str(programs), *CODEX, "-C", inside, *words) == (1, "")


def test_it_never_calls_itself_or_a_program_beside_it(tmp_path: Path, programs: Path) -> None:
    beside = tmp_path / "work"
    beside.mkdir()
    (beside / "git").write_text("#!/bin/sh\necho beside\n")
    (beside / "git").chmod(0o755)
    link = tmp_path / "link"
    link.symlink_to(tmp_path / FOLDER)
    path = f"{tmp_path / FOLDER}:{link}/:.::{tmp_path}/work/..:{programs}"
    assert called(tmp_path, path, "hello", cwd=str(beside)) == (0, f"{beside}  hello")


def test_the_program_is_made_again_if_it_was_changed_and_left_out_without_git(
    tmp_path: Path, programs: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert core_variables(str(tmp_path), str(tmp_path)) == {"PATH": str(tmp_path)}
    assert not (tmp_path / FOLDER).exists()
    made = tmp_path / FOLDER / "git"
    assert core_variables(str(tmp_path), str(programs))["PATH"] == f"{made.parent}{os.pathsep}{programs}"
    made.write_text("#!/bin/sh\nold\n")
    core_variables(str(tmp_path), str(programs))
    assert made.read_text() == SCRIPT
    assert not caplog.messages
    made.chmod(0o600)
    core_variables(str(tmp_path), str(programs))
    assert caplog.messages == []
    assert os.access(made, os.X_OK)


def test_a_program_that_cannot_be_made_is_told(
    tmp_path: Path, programs: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / FOLDER).write_text("")
    core_variables(str(tmp_path), str(programs))
    assert "Codex runs git with the settings of the repositories that it finds: cannot make" in caplog.text


def test_codex_s_own_calls_get_the_git_outside_of_the_checkout_where_we_were_started(
    tmp_path: Path, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work, home = repository(tmp_path / "work", **{"bin/x": ""}), tmp_path / "home"
    (work / "bin/git").write_text("#!/bin/sh\necho planted\n")
    (work / "bin/git").chmod(0o755)
    path = f"{work}/bin:{programs}"
    monkeypatch.chdir(work)
    assert called(home, path, *CODEX, "remote")[1].startswith("/ none")
    assert called(home, path, "remote") == (0, "planted")
    assert called(home, f"{work}/bin", *CODEX, "remote") == (126, "")
    (work / "bin/git").unlink()
    path = core_variables(str(home), f"{work}/bin:/bin/none")["PATH"]  # an agent may put one there later
    assert path == f"{home / FOLDER}:{work}/bin:/bin/none"


def test_what_codex_looks_for_on_path_stands_beside_it_while_agents_can_write_a_folder_of_path(
    tmp_path: Path, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work, made = repository(tmp_path / "work"), tmp_path / FOLDER
    (programs / "bash").write_text("")
    (programs / "bash").chmod(0o755)
    monkeypatch.chdir(work)
    core_variables(str(tmp_path), f"{work}/bin:{programs}")
    assert {path.name for path in made.iterdir()} == {"git", "bash", "bwrap"}
    assert (made / "bash").readlink() == programs / "bash"
    assert (made / "bwrap").read_text() == NOTHING
    (programs / "bwrap").symlink_to("bash")
    core_variables(str(tmp_path), f"{made}:{work}/bin:{programs}")
    assert (made / "bwrap").readlink() == programs / "bwrap"
    core_variables(str(tmp_path), str(programs))
    assert {path.name for path in made.iterdir()} == {"git"}
