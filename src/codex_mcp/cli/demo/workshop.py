"""A temporary folder with a git repository whose test fails, and a home for Codex.

The user's home folder and the settings of git and Codex are not touched.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from codex_mcp.base.errors import Refused

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

FILES: Final = {"prices.py": PROGRAM, "test_prices.py": TEST}

PASSED_ON: Final = ("PATH", "LANG", "LC_ALL", "LC_CTYPE")
"""The user's variables that programs get; none of them could hold a key."""

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
        return shlex.join(argv_of_test())

    def run_test(self) -> Check:
        try:
            done = subprocess.run(
                argv_of_test(),
                cwd=self.repository,
                env=dict(self.environment),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=TEST_PATIENCE,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Check(passed=False, last_line=f"not finished after {TEST_PATIENCE:.0f} s")
        return Check(done.returncode == 0, (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[-1])


def argv_of_test() -> list[str]:
    return [sys.executable, "-m", "unittest", "-q"]


@contextlib.contextmanager
def open_workshop(environment: Mapping[str, str], *, keep: bool) -> Iterator[Workshop]:
    """Make the folder and its contents; remove it afterwards, unless `keep`."""
    git = shutil.which("git", path=environment.get("PATH"))
    if git is None:
        raise Refused("cannot make a repository to work in: git is not on PATH; install git")
    # Codex creates no helper programs below the temporary folder, so it gets its own beside its home.
    folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="codex-mcp-demo-")))
    try:
        workshop = Workshop(folder, _private(environment, folder))
        for place in (workshop.codex_home, folder / "temporary", workshop.repository):
            place.mkdir(parents=True)
        _make_repository(git, workshop)
        yield workshop
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


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
        done = subprocess.run(
            [git, *author, *words],
            cwd=workshop.repository,
            env=dict(workshop.environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode != 0:
            raise Refused(f"cannot make a repository to work in: git {words[0]} failed: {done.stderr.strip()}")
