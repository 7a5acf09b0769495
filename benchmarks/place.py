"""Where the programs under test run: folders of their own, one configuration for all, nothing of the user's."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.lines import Program
from codex_mcp.base.settings.core import CoreSettings
from codex_mcp.base.settings.groups import Settings
from codex_mcp.codex.launch import launcher
from codex_mcp.codex.supervisor import CoreLaunch, Launcher

JUDGES = Path(__file__).parents[1] / "judges/node_modules"
OLD_BINARY = "codex-old/node_modules/@openai/codex-*/vendor/*/bin/codex"
"""The native program itself: what npm installs as `codex` starts it through Node, which costs another 40 ms."""

NEW_BINARY = "@openai/codex-*/vendor/*/bin/codex"


class CannotMeasure(Exception):
    """Something is missing on this machine."""


ANY_PORT = "ws://127.0.0.1:0"

QUICK_SHARE = 0.2
"""Of the rounds and of the time; a quick run shows that everything works, and takes less than a minute."""

LEAST_ROUNDS = 3
"""Fewer have no median worth the name."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is measured."""

    is_quick: bool

    def rounds(self, full: int, seconds: float) -> Iterator[int]:
        """Count the rounds of a measurement: a few, then as many as fit into its time, at most `full`."""
        share = QUICK_SHARE if self.is_quick else 1.0
        least = 1 if self.is_quick else LEAST_ROUNDS
        end = time.monotonic() + seconds * share
        for number in range(max(round(full * share), least)):
            if number >= least and time.monotonic() > end:
                return
            yield number


@dataclass(frozen=True, slots=True)
class Place:
    """A temporary folder, and the configuration that names the model."""

    folder: Path
    config: str
    effort: Effort
    plot: Path | None = None
    """Where to draw how we grow with sessions."""
    growth: Path | None = None
    """Where to draw how we grow with agents and mail."""

    def home(self, name: str) -> Path:
        """A home with a CODEX_HOME in it, made when first asked for."""
        home = self.folder / name
        codex_home = home / ".codex"
        if not codex_home.exists():
            for folder in (codex_home, home / "tmp", home / "work"):
                folder.mkdir(parents=True)
            (codex_home / "config.toml").write_text(self.config)
        return home

    def theirs(self) -> Program:
        """`codex mcp-server` 0.153.4."""
        return self._program("theirs", [str(old_codex()), "mcp-server"])

    def ours(self, *flags: str, home: str = "ours") -> Program:
        """`codex-mcp mcp-server`, as it is installed."""
        return self._program(home, [str(Path(sys.executable).with_name("codex-mcp")), "mcp-server", *flags])

    def team(self, *flags: str, home: str = "team") -> Program:
        """`codex-mcp serve`, as it is installed."""
        return self._program(home, [str(Path(sys.executable).with_name("codex-mcp")), "serve", *flags])

    def with_or_without_socket(self, kind: str, *flags: str) -> Program:
        """`codex-mcp serve`, whose control socket is made or is not."""
        program = str(Path(__file__).with_name("control_socket.py"))
        return self._program(f"{kind}-socket", [sys.executable, program, kind, "serve", *flags])

    def node(self, home: str, script: Path) -> Program:
        """A program from npm."""
        return self._program(home, [str(Path(sys.executable).with_name("node")), str(script)])

    def exec_theirs(self) -> Program:
        """`codex exec-server` of the newest release."""
        return self._program("exec-theirs", [str(new_codex()), "exec-server", "--listen", ANY_PORT])

    def exec_ours(self) -> Program:
        """`codex-mcp exec-server`, as it is installed."""
        installed = str(Path(sys.executable).with_name("codex-mcp"))
        return self._program("exec-ours", [installed, "exec-server", "--listen", ANY_PORT])

    def rendezvous(self, *flags: str) -> Program:
        """`codex-mcp rendezvous`, as it is installed."""
        installed = str(Path(sys.executable).with_name("codex-mcp"))
        return self._program("rendezvous", [installed, "rendezvous", "--port", "0", *flags])

    def remote_ours(self) -> Program:
        """`codex-mcp exec-server`, to be registered with a rendezvous."""
        return self._program("remote-ours", [str(Path(sys.executable).with_name("codex-mcp")), "exec-server"])

    def remote_theirs(self) -> Program:
        """`codex exec-server` of the newest release, to be registered with a rendezvous."""
        return self._program("remote-theirs", [str(new_codex()), "exec-server"])

    def core(self) -> Program:
        """The `codex app-server` that ours starts, with the same arguments, without ours in front of it."""
        home = self.home("core")
        settings = Settings(core=CoreSettings(codex_home=str(home / ".codex")))
        launch = asyncio.run(_launch(launcher(settings.core, _environment(home))))
        return Program(launch.argv, launch.environment, home / "work")

    def replayed_core(self, codex: Path) -> Program:
        """A Codex that was recorded."""
        return self._program("replayed", [str(codex), "app-server"])

    def _program(self, name: str, argv: list[str]) -> Program:
        home = self.home(name)
        return Program(argv, _environment(home), home / "work")


async def _launch(launcher: Launcher) -> CoreLaunch:
    return await launcher()


def _environment(home: Path) -> Mapping[str, str]:
    # TMPDIR beside CODEX_HOME: Codex does not set up its tools in a CODEX_HOME below the temporary folder.
    return {
        "PATH": os.defpath,
        "HOME": str(home),
        "CODEX_HOME": str(home / ".codex"),
        "TMPDIR": str(home / "tmp"),
    }


def old_codex() -> Path:
    """The last release with `codex mcp-server`. Raises CannotMeasure."""
    return _installed(OLD_BINARY, "Codex 0.153.4")


def new_codex() -> Path:
    """The newest release, with `codex exec-server`. Raises CannotMeasure."""
    return _installed(NEW_BINARY, "the newest Codex")


def _installed(pattern: str, name: str) -> Path:
    found = sorted(JUDGES.glob(pattern))
    if not found:
        raise CannotMeasure(f"cannot find {name} in judges/node_modules; say `make bench`, which installs it")
    return found[0]


def version_of(program: str) -> str:
    """What a program says of itself."""
    told = subprocess.run([program, "--version"], capture_output=True, text=True, check=True, timeout=30)
    return told.stdout.strip()
