"""`make coverage`: run the tests of each package, and see how much of that package they run, branches included.

Each package has a floor in floors.toml; RAISE=--raise raises it to what was measured. Of pure files, nothing may be
left out. Only this process is measured: what tests start as a program of its own does not count.
"""

import argparse
import ast
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from tests.coverage.report import Report, below, missing, percent, raised

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src/codex_mcp"
FLOORS = Path(__file__).with_name("floors.toml")
HEAD = (
    "# The least share of lines and branches, in percent, that the tests of a package must run. Written by --raise.\n"
)


def packages() -> list[str]:
    """The packages that have tests of their own."""
    return sorted(
        path.parent.name for path in SOURCES.glob("*/__init__.py") if (ROOT / "tests" / path.parent.name).is_dir()
    )


def pure_files() -> frozenset[str]:
    """The files whose docstring says that they are pure, as coverage names them."""
    docstrings = {path: ast.get_docstring(ast.parse(path.read_text())) or "" for path in SOURCES.rglob("*.py")}
    return frozenset(str(path.relative_to(ROOT)) for path, text in docstrings.items() if text.startswith("Pure."))


def measure(package: str, folder: Path) -> Report:
    """Run the tests of a package."""
    data, report = folder / f"{package}.data", folder / f"{package}.json"
    run = ["coverage", "run", f"--data-file={data}", f"--source={SOURCES / package}"]
    _run(package, *run, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"tests/{package}")
    _run(package, "coverage", "json", "-q", f"--data-file={data}", "-o", str(report))
    return msgspec.json.decode(report.read_bytes(), type=Report)


def _run(package: str, *words: str) -> None:
    done = subprocess.run([sys.executable, "-m", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"cannot measure {package}:\n{done.stdout[-5000:]}{done.stderr[-5000:]}")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.coverage", description=__doc__)
    parser.add_argument("package", nargs="*", help="packages to measure; all if none is named")
    parser.add_argument("--raise", action="store_true", dest="raises", help="raise the floors to what is measured")
    chosen = parser.parse_args()
    names = chosen.package or packages()
    floors = tomllib.loads(FLOORS.read_text()) if FLOORS.exists() else {}
    with tempfile.TemporaryDirectory(prefix="codex-mcp-coverage-") as folder, ThreadPoolExecutor(2) as pool:
        reports = dict(zip(names, pool.map(lambda name: measure(name, Path(folder)), names), strict=True))
    measured = {name: percent(report) for name, report in reports.items()}
    for name, share in measured.items():
        sys.stdout.write(f"{name:16} {share:5.1f} %\n")
    if chosen.raises:
        floors |= raised(measured, floors)
        FLOORS.write_text(HEAD + "".join(f"{name} = {floors[name]}\n" for name in sorted(floors)))
    pure = pure_files()
    left_out = [place for report in reports.values() for place in missing(report, pure)]
    if wrong := [*below(measured, floors), *(f"not run by the tests of its package: {place}" for place in left_out)]:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
