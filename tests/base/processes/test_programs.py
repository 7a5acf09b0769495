"""From which folders of PATH programs are taken."""

import subprocess
from pathlib import Path

import pytest

from codex_mcp.base.processes.programs import OURSELVES, find, for_person, our_command, our_path, places
from tests.support.repositories import repository


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout in the user's home, where nothing of ours runs."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    return repository(tmp_path / "home/project", **{"deep/a": "one\n", "bin/b": "two\n"})


def test_a_checkout_in_which_a_program_is_to_run_is_left_out(project: Path) -> None:
    inside, beside = str(project / "bin"), str(project.parent / "bin")
    path = f".:{inside}:{beside}::{project}/../project/bin:/usr/bin:bin"
    assert places(path) == [inside, beside, f"{project}/../project/bin", "/usr/bin"]
    for work in (project, project / "deep", project / "bin"):
        assert places(path, str(work)) == [beside, "/usr/bin"]


def test_a_repository_that_an_agent_makes_in_the_checkout_hides_nothing(project: Path) -> None:
    (project / "deep/.git").mkdir()
    (project / "deep/.git/HEAD").write_text("ref: refs/heads/main\n")
    (project / "deep/.git/objects").mkdir()
    (project / "deep/.git/commondir").write_text("/elsewhere\n")
    assert places(f"{project}/bin:/bin", str(project / "deep")) == ["/bin"]


def test_a_link_to_a_folder_of_the_checkout_is_left_out(project: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(project / "bin")
    assert places(str(tmp_path / "link"), str(project)) == []


@pytest.mark.parametrize("folder", ["", "deep"])
def test_the_checkout_in_which_the_server_was_started_is_left_out(
    project: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    monkeypatch.chdir(project / folder)
    assert places(f"{project}/.venv/bin:/bin") == ["/bin"]


def test_a_server_that_was_started_in_the_home_still_finds_programs_there(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"{project.parent}/.local/bin:/bin"
    for folder in (project.parent, Path("/")):
        monkeypatch.chdir(folder)
        assert places(path, str(folder)) == path.split(":")


def test_a_folder_that_is_gone_leaves_the_others(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = project / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert places(f"{project}/bin:/bin", str(project)) == ["/bin"]


def test_only_programs_are_found(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    (first / "x").mkdir(parents=True)
    second.mkdir()
    (second / "x").write_text("")
    assert find("x", [str(first), str(second)]) is None
    (second / "x").chmod(0o755)
    assert find("x", [str(first), str(second)]) == str(second / "x")


def test_we_are_not_started_from_the_files_of_the_working_folder(project: Path) -> None:
    package = project / "codex_mcp"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text("print('planted')\n")
    (project / "shutil.py").write_text("print('planted')\n")
    said = subprocess.run([*OURSELVES, "version"], cwd=project, capture_output=True, text=True, check=True)
    assert "planted" not in said.stdout
    assert "codex-mcp" in said.stdout


def test_advice_names_this_program_as_its_reader_can_run_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = "Codex is not signed in. Run `codex-mcp login`, or `printenv KEY | codex-mcp login`; codex-mcp waits."
    monkeypatch.setenv("PATH", str(tmp_path))
    own = our_path(str(tmp_path))
    assert our_command() == own != "codex-mcp"
    assert for_person(said) == (
        f"Codex is not signed in. Run `{own} login`, or `printenv KEY | {own} login`; codex-mcp waits."
    )
    (tmp_path / "codex-mcp").touch(mode=0o755)
    assert our_command() == "codex-mcp"
    assert for_person(said) == said
