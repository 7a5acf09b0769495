"""A home with a problem that doctor must find, and steps that make problems in it or remove them."""

import contextlib
import json
import re
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from codex_mcp.base.settings.core import CoreSettings
from codex_mcp.codex.binary import find_codex
from tests.support.servers.terminal import Terminal

REAL_CODEX = find_codex(CoreSettings(codex_home="/nowhere"), "").path
NO_CODEX = {"CODEX_MCP_CODEX_BIN": "./gone"}
"""Doctor is quicker if it does not start Codex; what it checks besides is the same."""


@dataclass
class Patient:
    """A home with a problem, and how doctor is run there."""

    home: Path
    patch: pytest.MonkeyPatch
    held: contextlib.ExitStack
    flags: list[str] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    fix: str = ""
    """The advice."""
    tries: Callable[[], None] = lambda: None
    """Sends a prompt that finds out whether the account takes requests."""

    @property
    def environment(self) -> dict[str, str]:
        return {"PATH": f"{self.home}/bin:/usr/bin:/bin", "HOME": str(self.home), **self.variables}

    def write(self, name: str, text: str) -> Path:
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def codex(self, *lines: str) -> None:
        """A program `codex` on PATH and as codex_bin. It does these lines; then it is the real Codex."""
        path = self.write("bin/codex", "\n".join(["#!/bin/sh", *lines, f'exec "{REAL_CODEX}" "$@"\n']))
        path.chmod(0o755)
        self.variables["CODEX_MCP_CODEX_BIN"] = str(path)

    def says(self, version: str) -> None:
        """A program `codex` on PATH that reports this version."""
        self.write("bin/codex", f"#!/bin/sh\necho codex-cli {version}\n").chmod(0o755)

    def follow_command(self) -> None:
        """Run the first command that the advice names, at a terminal; say yes if it asks."""
        (line, *_) = re.findall(r"`([^`]+)`", self.fix)
        words = ["sh", "-c", f'cd "$HOME" && {line}']
        with Terminal(words, self.environment) as terminal:
            terminal.type("y\n")
            assert terminal.exit_code() == 0, terminal.shown


Step = Callable[[Patient], object]
Case = namedtuple("Case", "check level produce advice follow")


def given(**variables: str) -> Step:
    return lambda patient: patient.variables.update(variables)


def removed(name: str) -> Step:
    return lambda patient: patient.variables.pop(name)


def written(name: str, text: str, *, is_quick: bool = True) -> Step:
    def write(patient: Patient) -> None:
        patient.write(name, text)
        patient.variables.update(NO_CODEX if is_quick else {})

    return write


def entry(*words: str, **more: object) -> str:
    return json.dumps({"mcpServers": {"codex": {"command": words[0], "args": words[1:], **more}}})
