"""Whether Codex's sandbox works on this machine. If not, as in some containers, the demo asks before every command.

the sandbox  commands         files            the person is asked about
-----------  ---------------  ---------------  ------------------------------
works        run              read-only        the patch
does not     run unconfined   writable         each command, and the patch
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from codex_mcp.base.settings.core import CoreSettings
from codex_mcp.cli.demo.workshop import run_program
from codex_mcp.codex.binary import find_codex

PATIENCE: Final = 20.0
"""Seconds for an empty command in a sandbox; it takes a twentieth of one."""


class Rights(Struct, frozen=True):
    """What the agent may do without asking."""

    sandbox: str
    approval_policy: str
    codex_version: str
    trouble: str = ""
    """Why the sandbox does not work; empty if it works."""


def find_rights(codex_home: str, environment: Mapping[str, str]) -> Rights:
    binary = find_codex(CoreSettings(codex_home=codex_home), environment.get("PATH", ""))
    version = ".".join(map(str, binary.version))
    trouble = sandbox_trouble(binary.path, environment)
    if trouble:
        return Rights("danger-full-access", "untrusted", version, trouble)
    return Rights("read-only", "on-request", version)


def sandbox_trouble(codex: str, environment: Mapping[str, str]) -> str:
    """Why a command in Codex's sandbox fails; empty if it works."""
    try:
        done = run_program([codex, "sandbox", "--", "true"], environment, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return f"not finished after {PATIENCE:.0f} s"
    if done.returncode == 0:
        return ""
    return (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
