"""Runs acceptance tests and judges with another Codex as the core, as a client and as an exec-server.

The version comes from npm, into a folder of its own (`.codex-versions/VERSION`), with an environment that is ours
except for Codex. The rollout files of all tests show which version really ran.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Final

from codex_mcp.codex.versions.contract import differences
from tests.versions.report import Report, Suite, rollout_version, suite_from

ROOT = Path(__file__).parents[2]
SUITES: Final = {"acceptance": ["tests/acceptance"], "judges": ["tests/judges"]}
SCHEMA: Final = "codex_app_server_protocol.schemas.json"


def main() -> int:
    parser = argparse.ArgumentParser(prog="make codex")
    parser.add_argument("version", metavar="VERSION", help="a version of @openai/codex on npm, or `latest`")
    parser.add_argument("--suite", action="append", choices=SUITES, help="only these tests (default: all)")
    given = parser.parse_args()
    folder = installed(given.version)
    version = json.loads((package_of(folder) / "package.json").read_text())["version"].partition("-")[0]
    python = environment_with(folder)
    suites = [run(name, python, folder) for name in given.suite or SUITES]
    report = Report(version, suites, rollouts(folder), changed(folder))
    sys.stdout.write(report.text() + "\n")
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
    (packages / "ours.pth").write_text(f"{ours}\nimport site; site.addsitedir({str(ours)!r})\n")
    own = packages / "codex_cli_bin"
    own.mkdir()
    shutil.copy(ours / "codex_cli_bin/__init__.py", own)
    for path in vendor.iterdir():
        (own / path.name).symlink_to(path)
    programs = folder / "venv/bin"
    for path in (ROOT / ".venv/bin").iterdir():
        if not (programs / path.name).exists():
            link(path, programs / path.name, programs)
    return programs / "python"


def link(path: Path, copy: Path, programs: Path) -> None:
    """A program of our environment in the other one; a script has to start with the other Python."""
    start = path.read_bytes()[:200]
    mark = f"#!{ROOT / '.venv/bin'}/".encode()
    if start.startswith(mark):
        copy.write_bytes(path.read_bytes().replace(mark, f"#!{programs}/".encode(), 1))
        copy.chmod(0o755)
    else:
        copy.symlink_to(path)


def run(name: str, python: Path, folder: Path) -> Suite:
    """Run these tests; their temporary folders stay, for their rollout files."""
    report, base = folder / f"{name}.xml", folder / "tmp" / name
    shutil.rmtree(base, ignore_errors=True)
    base.parent.mkdir(parents=True, exist_ok=True)
    argv = [str(python), "-m", "pytest", "-q", "--numprocesses=2", "--dist=worksteal", f"--basetemp={base}"]
    environment = {**os.environ, "CODEX_UNDER_TEST": str(folder / "node_modules")}
    subprocess.run([*argv, f"--junit-xml={report}", *SUITES[name]], cwd=ROOT, env=environment, check=False)
    return suite_from(name, report.read_text())


def rollouts(folder: Path) -> Counter[str]:
    """How many rollout files each version of Codex wrote in these tests."""
    files = (folder / "tmp").rglob("sessions/**/rollout-*.jsonl")
    versions = (rollout_version(path.open("rb").readline()) for path in files if path.is_file())
    return Counter(version for version in versions if version)


def changed(folder: Path) -> list[str]:
    """How its protocol differs from what we rely on."""
    (program,) = package_of(folder).glob("vendor/*/bin/codex")
    argv = [str(program), "app-server", "generate-json-schema", "--experimental", "--out", str(folder / "schema")]
    subprocess.run(argv, check=True, env={**os.environ, "CODEX_HOME": str(folder)})
    found = differences(json.loads((folder / "schema" / SCHEMA).read_text()))
    return [each.what for each in found]


if __name__ == "__main__":
    sys.exit(main())
