"""Writes docs/promises.md: what users are promised, the tests that attack it, and the mutants that break it."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tests.mutants.table import Mutant, mutants

ROOT: Final = Path(__file__).parents[2]
SOURCE: Final = ROOT / "tests/promises.toml"
PAGE: Final = ROOT / "docs/promises.md"

HEAD: Final = """# Promises

What you can rely on. Each promise names the tests that attack it, on the real Codex or on the part that keeps it, and
what the product does wrong without it: such a defect (a *mutant*) is put into the product, and the test must fail.
`make mutants` tries all of them.

CI runs every test with each commit, and a tenth of the mutants, another tenth with each commit; a release tries all.
How often CI has run each of them is not counted.
"""


def page() -> str:
    return f"{HEAD}\n" + "\n".join(_lines())


def promised() -> list[dict[str, Any]]:
    """The sections of the table."""
    return list(tomllib.loads(SOURCE.read_text()).values())


def _lines() -> Iterator[str]:
    by_name: dict[str, list[Mutant]] = {}
    for mutant in mutants():
        by_name.setdefault(mutant.breaks, []).append(mutant)
    for section in promised():
        yield f"## {section['title']}\n"
        yield "| promise | attacked by | fails if |"
        yield "|---|---|---|"
        for promise in section["promise"]:
            found = [mutant for name in promise["broken"] for mutant in by_name[name]]
            tests = dict.fromkeys(_test(mutant) for mutant in found)
            breaks = dict.fromkeys(mutant.breaks.removeprefix("feature: ") for mutant in found)
            yield f"| {promise['says']} | {'<br>'.join(tests)} | {'; '.join(breaks)} |"
        yield ""


def _test(mutant: Mutant) -> str:
    path, _, name = mutant.test.partition("::")
    words = name.partition("[")[0].removeprefix("test_").replace("_", " ")
    return f"[{words}](../{path})"


if __name__ == "__main__":
    PAGE.write_text(page())
