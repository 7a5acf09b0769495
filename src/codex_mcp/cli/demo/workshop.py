"""A scratch folder with a git repository whose test fails, and a home for Codex.

Nothing else in the user's home folder is touched, nor are the settings of git and Codex.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from codex_mcp.base.disk.scratch import new_private_folder, scratch_folder
from codex_mcp.base.errors import Refused
from codex_mcp.base.processes import programs
from codex_mcp.config.load import likely_codex_home

PROGRAM: Final = '''\
"""What a basket costs."""


def total(prices: list[int]) -> int:
    """Add up all prices."""
    return sum(prices[1:])
'''

TEST: Final = """\
import unittest

from prices import total


class TestPrices(unittest.TestCase):
    def test_total(self) -> None:
        self.assertEqual(total([2, 3, 4]), 9)
"""

KEPT: Final = os.path.join("codex-mcp", "demos")
"""In Codex's home: the folders of demos that the user wanted to keep."""

FILES: Final = {"prices.py": PROGRAM, "test_prices.py": TEST}

PASSED_ON: Final = ("PATH", "LANG", "LC_ALL", "LC_CTYPE")
"""The user's variables that programs get; none of them could hold a key."""

TEST_COMMAND: Final = (sys.executable, "-m", "unittest", "-q")
TEST_PATIENCE: Final = 20.0
"""Seconds; the test takes a tenth of one."""


class Check(Struct, frozen=True):
    passed: bool
    last_line: str


class Workshop(Struct, frozen=True):
    folder: Path
    environment: Mapping[str, str]

    @property
    def repository(self) -> Path:
        return self.folder / "shop"

    @property
    def codex_home(self) -> Path:
        return self.folder / "home" / ".codex"

    @property
    def test_command(self) -> str:
        return shlex.join(TEST_COMMAND)

    def run_test(self) -> Check:
        try:
            done = run_program(TEST_COMMAND, self.environment, self.repository, TEST_PATIENCE)
        except subprocess.TimeoutExpired:
            return Check(passed=False, last_line=f"not finished after {TEST_PATIENCE:.0f} s")
        return Check(done.returncode == 0, (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[-1])


def run_program(
    argv: Sequence[str], environment: Mapping[str, str], cwd: Path | None = None, timeout: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program without input. Raises TimeoutExpired."""
    return subprocess.run(
        argv,
        cwd=cwd,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout,
        check=False,
    )


@contextlib.contextmanager
def open_workshop(environment: Mapping[str, str], *, keep: bool) -> Iterator[Workshop]:
    """Make the folder and its contents; remove it afterwards, unless `keep`."""
    git = programs.find("git", programs.places(environment.get("PATH", os.defpath)))
    if git is None:
        raise Refused("cannot make a repository to work in: git is not on PATH; install git")
    home = likely_codex_home(None, environment)
    with contextlib.ExitStack() as stack:
        try:
            if keep:
                place = new_private_folder(os.path.join(os.path.realpath(home), KEPT))
            else:
                place = stack.enter_context(scratch_folder(home))
        except OSError as exc:
            raise Refused(
                f"cannot make a folder to work in: {exc.filename}: {exc.strerror}; set CODEX_HOME to a folder that you "
                "may write to"
            ) from exc
        # Codex creates no helper programs below the temporary folder, so it gets its own beside its home.
        workshop = Workshop(Path(place), _private(environment, Path(place)))
        for folder in (workshop.codex_home, workshop.folder / "temporary", workshop.repository):
            folder.mkdir(parents=True)
        _make_repository(git, workshop)
        yield workshop


def _private(environment: Mapping[str, str], folder: Path) -> dict[str, str]:
    home = folder / "home"
    return {
        **{name: environment[name] for name in PASSED_ON if name in environment},
        "HOME": str(home),
        "CODEX_HOME": str(home / ".codex"),
        "TMPDIR": str(folder / "temporary"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _make_repository(git: str, workshop: Workshop) -> None:
    for name, text in FILES.items():
        (workshop.repository / name).write_text(text, encoding="utf-8")
    author = ("-c", "user.name=demo", "-c", "user.email=demo@localhost", "-c", "init.defaultBranch=main")
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "Add up prices"]):
        done = run_program([git, *author, *words], workshop.environment, workshop.repository)
        if done.returncode != 0:
            raise Refused(f"cannot make a repository to work in: git {words[0]} failed: {done.stderr.strip()}")
