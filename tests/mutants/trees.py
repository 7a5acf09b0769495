"""A copy of the repository in which one mutant at a time is applied, and the tests that run there."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final

from tests.mutants.table import ROOT, Mutant

COPIED: Final = ("src", "tests", "benchmarks", "docs", "pyproject.toml", "README.md")
LINKED: Final = ("judges", ".venv-mcp1")

FAILED, PASSED = 1, 0
"""Pytest's exit codes for "some tests failed" and "all passed"; every other one means that the tests could not run."""

TRIES: Final = 3
"""A defect that shows itself in one order of events only may escape its test once on a busy machine."""


class Verdict(StrEnum):
    """What the named test said."""

    KILLED = "killed"
    SURVIVED = "survived"
    BROKEN = "broken"
    """The test could not run, so that it said nothing."""
    NOT_TRIED = "not tried"
    """There was no time left."""


class Tree:
    """A copy of the repository in a folder that exists and is empty."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, folder / name)
            else:
                shutil.copy2(source, folder / name)
        for name in LINKED:
            if (ROOT / name).exists():
                (folder / name).symlink_to(ROOT / name)

    def passes(self, tests: Sequence[str]) -> bool:
        """Without a mutant these tests pass, at the second try at the latest; what they print is for the reader."""
        return any(self._pytest(*tests, quiet=False) == PASSED for _ in range(2))

    def judge(self, mutant: Mutant) -> Verdict:
        """Apply a mutant, run its test until it notices, at most TRIES times, and take the mutant back."""
        path = self._folder / mutant.path
        source = path.read_text(encoding="utf-8")
        self._write(path, mutant.applied(source))
        try:
            for _ in range(TRIES):
                code = self._pytest(mutant.test)
                if code == FAILED:
                    break
        finally:
            self._write(path, source)
        return {FAILED: Verdict.KILLED, PASSED: Verdict.SURVIVED}.get(code, Verdict.BROKEN)

    def _write(self, path: Path, source: str) -> None:
        """Python compares sizes and whole seconds before it uses compiled code again, which is too coarse here."""
        path.write_text(source, encoding="utf-8")
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
            compiled.unlink()

    def _pytest(self, *tests: str, quiet: bool = True) -> int:
        argv = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
        output = subprocess.DEVNULL if quiet else None
        environment = {**os.environ, "PYTHONPATH": str(self._folder / "src"), "PYTHONDONTWRITEBYTECODE": ""}
        return subprocess.run(argv, cwd=self._folder, env=environment, stdout=output, stderr=output).returncode
