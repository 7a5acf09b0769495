"""Our wheel and our source distribution: built, installed outside of the repository, and tried there."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
UV = str(Path(sys.executable).parent / "uv")

TURNS = "tests/acceptance/recordings/test_02_03_turns.py"
SUBSET = ("tests/wire", "tests/config", TURNS)
"""Tests of the source distribution that load and start the product, take some seconds, and need no sandbox, which
containers often do not have."""

MORE = (*SUBSET, "tests/base", "tests/cli/clients/config_text", "tests/rpc", "tests/scripted_model", "tests/transports")
"""Those that also found what differs between Pythons."""


SHOW_A_PAGE = """
from codex_mcp.dashboard.rendering import Frame, page, static_files
assert static_files()
print(page("sign-in.html", Frame(page="", now=0), problem="", has_tokens=False).decode())
"""


@dataclass(frozen=True, slots=True)
class Workshop:
    """A folder for builds and environments."""

    folder: Path
    wheels: Path | None = None
    """Where the packages come from; None for the network."""

    def run(self, argv: Sequence[str | Path], cwd: Path | None = None) -> str:
        """Run a program to its end; return what it printed. Raises AssertionError if it fails."""
        words = [str(word) for word in argv]
        ended = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            cwd=cwd or self.folder,
            env=self._environment(),
        )
        assert ended.returncode == 0, f"{words} exited with {ended.returncode}:\n{ended.stdout}{ended.stderr}"
        return ended.stdout

    def _environment(self) -> dict[str, str]:
        """Nothing of ours is found by accident; a network's certificates and addresses stay known."""
        kept = re.compile(r"(?i)PATH|SSL_.*|.*_PROXY|PIP_(CERT|INDEX.*|EXTRA.*)|CODEX_MCP_TEST_PATIENCE")
        environment = {name: value for name, value in os.environ.items() if kept.fullmatch(name)}
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        own = {"HOME": str(home), "UV_CACHE_DIR": str(self.folder / "cache"), "UV_PYTHON_DOWNLOADS": "never"}
        return environment | own | {"UV_SYSTEM_CERTS": "1"}

    def _packages_from(self) -> list[str]:
        return ["--no-index", "--find-links", str(self.wheels)] if self.wheels else []

    def uvx(self, source: Path, python: str, *words: str) -> str:
        """Run our program as `uvx --from` does."""
        return self.run([UV, "tool", "run", *self._packages_from(), "--python", python, "--from", source, *words])

    def build(self) -> tuple[Path, Path]:
        """The source distribution, unpacked, and the wheel that was built from it."""
        place = self.folder / "dist"
        self.run([UV, "build", *self._packages_from(), "--python", sys.executable, "--out-dir", place, ROOT])
        (wheel,) = place.glob("*.whl")
        (archive,) = place.glob("*.tar.gz")
        with tarfile.open(archive) as source:
            source.extractall(self.folder / "source", filter="data")
        (unpacked,) = (self.folder / "source").iterdir()
        return unpacked, wheel

    def install(self, wheel: Path, python: str) -> Path:
        """Install the wheel as `pipx install` does, with pip into an environment of its own; return its programs."""
        place = self.folder / f"installed-{Path(python).name}"
        self.run([python, "-m", "venv", place])
        pip: list[str | Path] = [
            place / "bin/python",
            "-m",
            "pip",
            "-qq",
            "--disable-pip-version-check",
            "--no-input",
            "install",
        ]
        self.run([*pip, *self._packages_from(), wheel])
        return place / "bin"

    def try_programs(self, programs: Path) -> None:
        """Every program starts, and a scripted turn runs: the data files are there."""
        versions = {
            self.run([programs / name, "--version"]) for name in ("codex-mcp", "codex-mcp-server", "codex-exec-server")
        }
        assert len(versions) == 1, versions
        report = subprocess.run(
            [programs / "codex-mcp", "doctor", "--turn", "--json"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd=self.folder,
            env=self._environment(),
        )
        checks = {check["check"]: check["level"] for check in json.loads(report.stdout)["checks"]}
        assert (checks["codex.handshake"], checks["turn"]) == ("ok", "ok"), checks
        assert "Sign in" in self.run([programs / "python", "-c", SHOW_A_PAGE])

    def try_source(self, source: Path, python: Path, tests: Sequence[str] = SUBSET) -> str:
        """Run tests of the source distribution there; return the last line."""
        words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
        return self.run([python, *words], cwd=source).splitlines()[-1]


def pythons() -> list[str]:
    """The Pythons of this machine that we support, by their names on PATH."""
    names = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text())
    return [found for name in names if (found := shutil.which(f"python{name}"))]
