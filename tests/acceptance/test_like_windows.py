"""On Windows, where pip can install us, every program says in one sentence what to do instead."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from codex_mcp.cli.main import NOT_WINDOWS
from tests.support.patience import PATIENCE
from tests.support.servers.mcp_server import SOURCES

SITE = """
import sys

for name in "fcntl grp pty pwd resource termios tty uvloop".split():
    sys.modules[name] = None  # importing it fails
sys.platform = "win32"
"""

ENTRY_POINTS = ["main", "mcp_server_main", "exec_server_main"]


@pytest.mark.parametrize("entry_point", ENTRY_POINTS)
@pytest.mark.parametrize("words", [[], ["mcp-server"], ["--version"]])
def test_every_program_names_wsl(tmp_path: Path, entry_point: str, words: list[str]) -> None:
    (tmp_path / "sitecustomize.py").write_text(SITE)
    ended = subprocess.run(
        [sys.executable, "-c", f"import sys; from codex_mcp.cli.main import *; sys.exit({entry_point}())", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": f"{tmp_path}:{SOURCES}", "HOME": str(tmp_path)},
        timeout=PATIENCE,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (2, "", f"{NOT_WINDOWS}\n")


def test_pip_builds_nothing_there_that_cannot_be_built() -> None:
    project = tomllib.loads((SOURCES.parent / "pyproject.toml").read_text())["project"]
    parsed = [Requirement(text) for text in project["dependencies"]]
    windows = {"sys_platform": "win32"}
    names = [one.name for one in parsed if not one.marker or one.marker.evaluate(windows)]
    assert "msgspec" in names
    assert "uvloop" not in names
