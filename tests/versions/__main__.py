"""Runs acceptance tests and judges with another Codex as the core, as a client and as an exec-server.

The version comes from npm, which has every version that the wheels have, into a folder of its own
(`.codex-versions/VERSION`), with an environment that is ours except for Codex. The rollout files of all tests show
which version really ran. A test that fails runs once more, alone: on a busy machine some only come too late.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Final

from codex_cli_bin import bundled_codex_path

from codex_mcp.codex.versions.contract import differences
from codex_mcp.codex.versions.measured import measured, parse_version
from tests.versions.report import Report, Suite, rollout_version, suite_from

ROOT = Path(__file__).parents[2]
SUITES: Final = {"acceptance": ["tests/acceptance"], "judges": ["tests/judges"]}
SCHEMA: Final = "codex_app_server_protocol.schemas.json"


def main() -> int:
    parser = argparse.ArgumentParser(prog="make codex")
    parser.add_argument("version", metavar="VERSION", help="a version of @openai/codex on npm, or `latest`")
    parser.add_argument("--suite", action="append", choices=SUITES, help="only these tests (default: all)")
    parser.add_argument("--out", type=Path, help="write the table to this file, too")
    parser.add_argument("--unless-measured", action="store_true", help="do nothing for a version that the table has")
    given = parser.parse_args()
    folder = installed(given.version)
    version = json.loads((package_of(folder) / "package.json").read_text())["version"].partition("-")[0]
    known = parse_version(version)
    if given.unless_measured and known is not None and measured(known) is not None:
        sys.stdout.write(f"Codex {version} has been measured\n")
        return 0
    python = environment_with(folder)
    # Outside of the repository, and with short names: some tests need a folder without git, or make sockets.
    with tempfile.TemporaryDirectory(prefix="codex-", ignore_cleanup_errors=True) as base:
        suites = [run(name, python, folder, Path(base)) for name in given.suite or SUITES]
        report = Report(version, suites, rollouts(Path(base)), changed(folder))
    sys.stdout.write(report.text() + "\n")
    if given.out is not None:
        given.out.write_text(report.text() + "\n")
    return 0 if report.is_fit else 1


def installed(version: str) -> Path:
    """The folder with this version; npm makes it."""
    folder = ROOT / ".codex-versions" / version
    if not (folder / "node_modules/@openai/codex").exists() or version == "latest":
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text('{"private": true}')
        npm = [
            str(ROOT / ".venv/bin/npm"),
            "install",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--loglevel=error",
        ]
        path = f"{ROOT / '.venv/bin'}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "NODE_USE_SYSTEM_CA": "1"}
        subprocess.run([*npm, f"@openai/codex@{version}"], cwd=folder, env=environment, check=True)
    return folder


def package_of(folder: Path) -> Path:
    (package,) = folder.glob("node_modules/@openai/codex-*")
    return package


def environment_with(folder: Path) -> Path:
    """A Python that has all that .venv has, with this Codex in the place of our own."""
    (vendor,) = package_of(folder).glob("vendor/*")
    shutil.rmtree(folder / "venv", ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    (packages,) = (folder / "venv/lib").glob("python*/site-packages")
    (ours,) = (ROOT / ".venv/lib").glob("python*/site-packages")
    own = packages / "codex_cli_bin"
    for path in ours.iterdir():
        if path.name != own.name:
            same_files(path, packages / path.name)
    own.mkdir()
    shutil.copy(ours / "codex_cli_bin/__init__.py", own)
    for path in vendor.iterdir():
        (own / path.name).symlink_to(path)
    programs = folder / "venv/bin"
    for path in (ROOT / ".venv/bin").iterdir():
        if not (programs / path.name).exists():
            link(path, programs / path.name, programs)
    return programs / "python"


def same_files(path: Path, copy: Path) -> None:
    """The same files under another name. No links to other folders: a sandbox shows only the folders of this Python."""
    if path.is_dir():
        shutil.copytree(path, copy, symlinks=True, copy_function=os.link, dirs_exist_ok=True)
    else:
        os.link(path, copy)


def link(path: Path, copy: Path, programs: Path) -> None:
    """A program of our environment in the other one; a script has to start with the other Python."""
    start = path.read_bytes()[:200]
    mark = f"#!{ROOT / '.venv/bin'}/".encode()
    if start.startswith(mark):
        copy.write_bytes(path.read_bytes().replace(mark, f"#!{programs}/".encode(), 1))
        copy.chmod(0o755)
    else:
        copy.symlink_to(path)


def run(name: str, python: Path, folder: Path, base: Path) -> Suite:
    """Run these tests, and those that failed once more, with their temporary folders below `base`."""
    argv = [str(python), "-m", "pytest", "-q", "-o", f"cache_dir={folder / 'cache' / name}"]
    ways = {
        "all": ["--numprocesses=2", "--dist=worksteal", "--cache-clear"],
        "again": ["--last-failed", "--last-failed-no-failures=none"],
    }
    for way, flags in ways.items():
        places = [f"--basetemp={base / f'{name}-{way}'}", f"--junit-xml={folder / f'{name}-{way}.xml'}"]
        environment = {**os.environ, "CODEX_UNDER_TEST": str(folder / "node_modules")}
        subprocess.run([*argv, *flags, *places, *SUITES[name]], cwd=ROOT, env=environment, check=False)
    return suite_from(name, *((folder / f"{name}-{way}.xml").read_text() for way in ways))


def rollouts(base: Path) -> Counter[str]:
    """How many rollout files each version of Codex wrote in these tests."""
    files = base.rglob("sessions/**/rollout-*.jsonl")
    versions = (rollout_version(path.open("rb").readline()) for path in files if path.is_file())
    return Counter(version for version in versions if version)


def changed(folder: Path) -> list[str]:
    """How its protocol differs from what we rely on, in which our own does not."""
    (program,) = package_of(folder).glob("vendor/*/bin/codex")
    ours = differing(bundled_codex_path(), folder / "schema-of-ours")
    return [what for what in differing(program, folder / "schema") if what not in ours]


def differing(program: Path, out: Path) -> list[str]:
    out.mkdir(exist_ok=True)
    argv = [str(program), "app-server", "generate-json-schema", "--experimental", "--out", str(out)]
    subprocess.run(argv, check=True, env={**os.environ, "CODEX_HOME": str(out)})
    return [each.what for each in differences(json.loads((out / SCHEMA).read_text()))]


if __name__ == "__main__":
    sys.exit(main())
