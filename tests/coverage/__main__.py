"""`python -m tests.coverage`: judge how much of each package its own tests have run, branches included.

`measuring` has noted it while the tests ran. Each package has a floor in floors.toml. Of the functions of pure files,
the tests of their package may leave out nothing, but for some files that floors.toml names. `--raise` asks for no less
than was measured.
"""

import argparse
import ast
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from coverage import Coverage

from tests.coverage.report import Report, below, beyond, lowered, missing, percent, raised

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src/codex_mcp"
DATA = ROOT / ".coverage-data"
FLOORS = Path(__file__).with_name("floors.toml")
HEAD = "# The least share of lines and branches, in percent, that the tests of a package must run. --raise writes it.\n"
NOT_YET = "# How many lines and branches of these pure files they may leave out; of all other pure files none.\n"


def packages() -> list[str]:
    """The packages that have tests of their own."""
    return sorted(
        path.parent.name for path in SOURCES.glob("*/__init__.py") if (ROOT / "tests" / path.parent.name).is_dir()
    )


def pure_files() -> frozenset[str]:
    """The files whose docstring says that they are pure, as coverage names them."""
    docstrings = {path: ast.get_docstring(ast.parse(path.read_text())) or "" for path in SOURCES.rglob("*.py")}
    return frozenset(str(path.relative_to(ROOT)) for path, text in docstrings.items() if text.startswith("Pure."))


def reports(data: Path, names: Sequence[str]) -> dict[str, Report]:
    """What the tests of each package have run of it."""
    with tempfile.TemporaryDirectory(prefix="codex-mcp-coverage-") as folder:
        combined, written = Path(folder) / "combined", Path(folder) / "report.json"
        coverage = Coverage(data_file=str(combined))
        coverage.combine([str(path) for path in data.iterdir()], keep=True)
        found = {}
        for name in names:
            own = [f"^{name}(/|$)"]
            coverage.json_report(outfile=str(written), include=[f"src/codex_mcp/{name}/*"], contexts=own)
            found[name] = msgspec.json.decode(written.read_bytes(), type=Report)
        return found


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.coverage", description=__doc__)
    parser.add_argument("package", nargs="*", help="packages to judge; all if none is named")
    parser.add_argument("--raise", action="store_true", dest="raises", help="ask for no less than was measured")
    chosen = parser.parse_args()
    kept = tomllib.loads(FLOORS.read_text())
    floors, allowed = kept["floors"], kept["left_out"]
    found = reports(DATA, chosen.package or packages())
    measured = {name: percent(report) for name, report in found.items()}
    sys.stdout.write("".join(f"{name:16} {share:5.1f} %\n" for name, share in measured.items()))
    pure = pure_files()
    left_out = {path: places for report in found.values() for path, places in missing(report, pure).items()}
    if chosen.raises:
        floors |= raised(measured, floors)
        judged = tuple(f"src/codex_mcp/{name}/" for name in found)
        others = {path: most for path, most in allowed.items() if not path.startswith(judged)}
        allowed = others | lowered(left_out, {path: most for path, most in allowed.items() if path.startswith(judged)})
        FLOORS.write_text(_written(floors, allowed))
    if wrong := [*below(measured, floors), *beyond(left_out, allowed)]:
        sys.exit("\n".join(wrong))


def _written(floors: Mapping[str, float], allowed: Mapping[str, int]) -> str:
    shares = "".join(f"{name} = {floors[name]}\n" for name in sorted(floors))
    counts = "".join(f'"{path}" = {allowed[path]}\n' for path in sorted(allowed))
    return f"{HEAD}[floors]\n{shares}\n{NOT_YET}[left_out]\n{counts}"


if __name__ == "__main__":
    main()
