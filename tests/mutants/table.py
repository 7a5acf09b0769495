"""The mutants of `tests/mutants/*.toml`: small changes to the product that a named test must notice."""

import ast
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

FOLDER: Final = Path(__file__).parent
ROOT: Final = FOLDER.parents[1]


SHARES: Final = 10
"""So many commits try all mutants, if they are evenly spread."""


class Mutant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One change, and the test that must fail with it."""

    breaks: str
    """What the product then does wrong, in a few words."""
    file: str
    """Below `src/codex_mcp`."""
    find: str
    """Text that occurs exactly once in the file."""
    replace: str
    test: str
    """`tests/…/test_x.py::test_name`, which runs all its parameters; or with `[parameter]`, one of them."""
    requirement: str | None = None
    """The requirement that the test is named after."""

    @property
    def path(self) -> str:
        """The file, seen from the root of the repository."""
        return f"src/codex_mcp/{self.file}"

    @property
    def label(self) -> str:
        """How a report names it."""
        return f"{self.requirement or self.file}: {self.breaks}"

    def applied(self, source: str) -> str:
        """The changed source; a ValueError says why the change does not fit."""
        if (times := source.count(self.find)) != 1:
            raise ValueError(f"{self.path}: the text to find occurs {times} times, not once: {self.find!r}")
        changed = source.replace(self.find, self.replace)
        if ast.dump(ast.parse(source)) == ast.dump(ast.parse(changed)):
            raise ValueError(f"{self.path}: the change has no effect: {self.find!r}")
        return changed


class _Table(msgspec.Struct, forbid_unknown_fields=True):
    mutant: list[Mutant]


def mutants() -> Sequence[Mutant]:
    """All of them, file by file."""
    files = sorted(FOLDER.glob("*.toml"))
    return [mutant for file in files for mutant in _read(file)]


def _read(file: Path) -> list[Mutant]:
    return msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), _Table).mutant


def share_of(commit: str) -> int:
    """Which of the shares a commit tries."""
    return int(commit, 16) % SHARES


def misfits(chosen: Sequence[Mutant]) -> list[str]:
    """Why some of them cannot be applied."""
    found = []
    for mutant in chosen:
        try:
            mutant.applied((ROOT / mutant.path).read_text(encoding="utf-8"))
        except (OSError, ValueError) as exc:
            found.append(f"{mutant.label}: {exc}")
    return found
