"""`python -m tests.packages.formula`: writes the Homebrew formula of the packages in dist/ to release/codex-mcp.rb."""

import hashlib
import re
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEMPLATE = ROOT / "packaging/codex-mcp.rb"


def filled(template: str, values: Mapping[str, str]) -> str:
    """Pure. The template with a value in place of each name between two @. Raises KeyError for an unknown name."""
    return re.sub(r"@([a-z0-9]+)@", lambda found: values[found[1]], template)


def values_of(source: Path, repository: str) -> dict[str, str]:
    """What the formula says of a source distribution, which the release of its version on GitHub has."""
    version = source.name.removeprefix("codex_mcp-").removesuffix(".tar.gz")
    return {
        "repository": repository,
        "url": f"{repository}/releases/download/v{version}/{source.name}",
        "sha256": hashlib.sha256(source.read_bytes()).hexdigest(),
    }


def main(dist: Path, target: Path) -> int:
    sources = [*dist.glob("codex_mcp-*.tar.gz")]
    if len(sources) != 1:
        sys.stderr.write(f"cannot write the formula: {dist} has {len(sources)} source distributions; run make dist\n")
        return 1
    repository = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]["Repository"]
    target.parent.mkdir(exist_ok=True)
    target.write_text(filled(TEMPLATE.read_text(), values_of(sources[0], repository)))
    return 0


if __name__ == "__main__":
    sys.exit(main(ROOT / "dist", ROOT / "release/codex-mcp.rb"))
