"""`make release TAG=v1.2.3`: what must be true of a commit before packages are built from it."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]

PLACEHOLDER = "OWN" + "ER/codex-mcp"
"""In two parts, so that it is not found here."""


def problems(tag: str, version: str, changelog: str, placeholders: list[str]) -> Iterator[str]:
    """Pure. Sentences that say what is not ready."""
    if tag != f"v{version}":
        yield f"the tag is {tag or 'missing'}, and src/codex_mcp/__init__.py says {version}"
    first = re.search(r"(?m)^## (\S+)", changelog)
    if first is None or first[1] != version:
        yield f"the first section of CHANGELOG.md is not {version}"
    if placeholders:
        yield f"{PLACEHOLDER} must be replaced by the real repository in {', '.join(placeholders)}"


def main(tag: str) -> int:
    version = re.search(r'__version__ = "(.+)"', (ROOT / "src/codex_mcp/__init__.py").read_text())
    assert version is not None
    command = ["git", "grep", "--files-with-matches", "--fixed-strings", PLACEHOLDER]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.splitlines()
    missing = [*problems(tag, version[1], (ROOT / "CHANGELOG.md").read_text(), found)]
    for problem in missing:
        sys.stderr.write(f"cannot release: {problem}\n")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main("".join(sys.argv[1:])))
