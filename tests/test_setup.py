"""`make setup` in a folder of its own, with a Python that only pretends to make environments and to install."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.patience import PATIENCE

ROOT = Path(__file__).parents[1]

PYTHON = """#!/bin/sh
# A Python whose `-m venv` makes a folder with a program that notes what pip is asked for.
here=$(dirname "$0")
case "$*" in
"-c import ensurepip") test -e "$here/has-ensurepip" ;;
"-m venv --clear "*)
    echo made >> "$here/log"
    rm -rf "$4" && mkdir -p "$4/bin" && cp "$here/environment" "$4/bin/real" && ln -s real "$4/bin/python"
    test -e "$here/has-ensurepip" && touch "$4/bin/pip" ;;
*) exec REAL "$@" ;;
esac
"""
ENVIRONMENT = """#!/bin/sh
here=$(cd "$(dirname "$0")" && pwd)
test -e "$here/pip" || { echo "No module named pip" >&2; exit 1; }
case "$*" in
*" --editable "*)
    printf '#!%s\n' "$here/program" > "$here/codex-mcp"
    ln -sf /bin/true "$here/program" && chmod +x "$here/codex-mcp" ;;
esac
case "$*" in
"-m compileall "*) echo compiled >> HOME/log ;;
*" install "*)
    echo installed >> HOME/log
    if test -e HOME/interrupted; then kill -INT $$; fi ;;
esac
"""


class Checkout:
    """A folder with our Makefile, and beside it the Python that it uses."""

    def __init__(self, folder: Path) -> None:
        self.tools = folder / "tools"
        self.folder = folder / "checkout"
        self.tools.mkdir()
        (self.folder / "requirements").mkdir(parents=True)
        shutil.copy(ROOT / "Makefile", self.folder)
        (self.folder / "pyproject.toml").touch()
        (self.folder / "requirements/lock.txt").touch()
        self.program("python3", PYTHON.replace("REAL", sys.executable))
        self.program("environment", ENVIRONMENT.replace("HOME", str(self.tools)))
        self.switch("has-ensurepip")

    def program(self, name: str, text: str) -> None:
        (self.tools / name).write_text(text)
        (self.tools / name).chmod(0o755)

    def switch(self, name: str) -> None:
        (self.tools / name).touch()

    def setup(self) -> subprocess.CompletedProcess[str]:
        """Run `make setup` as a shell does that is not itself below make."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
        return subprocess.run(
            ["make", f"PYTHON={self.tools / 'python3'}", "setup"],
            capture_output=True,
            text=True,
            cwd=self.folder,
            env=environment,
            timeout=PATIENCE,
        )

    def outdate(self) -> None:
        """Make the lock file newer than the last setup."""
        os.utime(self.folder / ".venv/.setup-done", (0, 0))

    def done(self) -> list[str]:
        """What was done since the last look; fails unless this setup works."""
        ended = self.setup()
        assert (ended.returncode, ended.stderr) == (0, "")
        log = self.tools / "log"
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return lines


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


ALL = ["made", "installed", "installed", "compiled"]
KEEPING_LINKS: dict[str, dict[str, Any]] = {"move": {}, "copytree": {"symlinks": True}}


def test_a_finished_setup_is_not_repeated(checkout: Checkout) -> None:
    assert checkout.done() == ALL
    assert checkout.done() == []


def test_without_ensurepip_the_missing_package_is_named_and_the_next_setup_works(checkout: Checkout) -> None:
    (checkout.tools / "has-ensurepip").unlink()
    for _ in range(2):
        ended = checkout.setup()
        package = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
        assert f"has no ensurepip; on Debian and Ubuntu, run: sudo apt install {package}\n" in ended.stderr
        assert (ended.returncode, (checkout.folder / ".venv/bin/python").exists()) == (2, True)
    (checkout.tools / "log").unlink()
    checkout.switch("has-ensurepip")
    assert checkout.done() == ALL


def test_an_interrupted_setup_begins_again_from_nothing(checkout: Checkout) -> None:
    checkout.switch("interrupted")
    assert checkout.setup().returncode != 0
    (checkout.tools / "interrupted").unlink()
    (checkout.tools / "log").unlink()
    assert checkout.done() == ALL


def test_an_interrupted_upgrade_begins_again_from_nothing(checkout: Checkout) -> None:
    assert checkout.done() == ALL
    checkout.outdate()
    checkout.switch("interrupted")
    assert checkout.setup().returncode != 0
    (checkout.tools / "interrupted").unlink()
    (checkout.tools / "log").unlink()
    assert checkout.done() == ALL


def test_a_changed_lock_file_is_installed_into_the_same_environment(checkout: Checkout) -> None:
    assert checkout.done() == ALL
    checkout.outdate()
    assert checkout.done() == ["installed", "installed", "compiled"]


@pytest.mark.parametrize("how", ["move", "copytree"])
def test_a_checkout_in_another_folder_gets_an_environment_of_its_own(checkout: Checkout, how: str) -> None:
    assert checkout.done() == ALL
    elsewhere = checkout.folder.parent / "elsewhere"
    (shutil.move if how == "move" else shutil.copytree)(checkout.folder, elsewhere, **KEEPING_LINKS[how])
    checkout.folder = elsewhere
    assert checkout.done() == ALL
    assert checkout.done() == []


def test_a_program_that_does_not_run_is_repaired(checkout: Checkout) -> None:
    assert checkout.done() == ALL
    (checkout.folder / ".venv/bin/program").unlink()
    assert checkout.done() == ALL


@pytest.mark.parametrize("lost", ["real", "pip"])
def test_an_environment_whose_python_or_pip_is_gone_is_made_again(checkout: Checkout, lost: str) -> None:
    assert checkout.done() == ALL
    (checkout.folder / ".venv/bin" / lost).unlink()
    assert checkout.done() == ALL
