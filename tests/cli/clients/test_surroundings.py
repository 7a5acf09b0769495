"""Which program an entry names."""

import sys
from pathlib import Path

import pytest

from codex_mcp.base.errors import Refused
from codex_mcp.cli.clients.surroundings import our_program


def program(folder: Path) -> Path:
    folder.mkdir(parents=True)
    path = folder / "codex-mcp"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_the_program_that_was_started_is_named_by_its_absolute_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = program(tmp_path / "bin")
    assert our_program(str(started)) == [str(started)]
    monkeypatch.chdir(tmp_path)
    assert our_program("bin/codex-mcp") == [str(started)]


def test_a_link_to_it_is_named_itself_because_it_stays_when_the_program_is_updated(tmp_path: Path) -> None:
    link = tmp_path / "codex-mcp"
    link.symlink_to(program(tmp_path / "venv-1.0"))
    assert our_program(str(link)) == [str(link)]


def test_started_in_another_way_it_is_the_program_beside_python() -> None:
    assert our_program("/somewhere/pytest") == [str(Path(sys.executable).parent / "codex-mcp")]


@pytest.mark.parametrize("place", ["cache/uv/archive-v0/abc/bin", ".cache/pipx/abc/bin"])
def test_a_program_that_was_made_for_one_start_is_refused(tmp_path: Path, place: str) -> None:
    with pytest.raises(Refused, match="made for one start"):
        our_program(str(program(tmp_path / place)))
