"""The real clients, as `make judges` installs them, and how a test runs one to its end."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.patience import PATIENCE
from tests.support.processes import all_ended, end_all
from tests.support.servers.mcp_server import Setup

ROOT = Path(__file__).parents[3]

NODE_MODULES = ROOT / "judges/node_modules"

CLIENT_PATIENCE = 3 * PATIENCE
"""Seconds for the whole life of a client. opencode takes 20 s to start on a busy machine."""

CODEX_PACKAGES = {"codex-new": "@openai/codex", "@openai/codex-linux-x64": "@openai/codex-linux-x64"}


@dataclass(frozen=True, slots=True)
class Ended:
    """How a client ended, and what it said."""

    code: int
    stdout: str
    stderr: str


def node() -> str:
    """The Node of the virtual environment."""
    return str(_there(Path(sys.executable).parent / "node", "make setup"))


def first_python_sdk() -> str:
    """The Python that has the first generation of the official SDK; both do not fit into one environment."""
    return str(_there(ROOT / ".venv-mcp1/bin/python", "make judges"))


def frameworks() -> str:
    """The Python that has the agent frameworks on the second generation of the SDK."""
    return str(_there(ROOT / ".venv-frameworks/bin/python", "make judges"))


def judge(name: str) -> str:
    """The program of a client."""
    modules = NODE_MODULES if name != "codex" else Path(os.environ.get("CODEX_UNDER_TEST") or NODE_MODULES)
    return str(_there(modules / ".bin" / name, "make judges"))


def package(name: str) -> Path:
    """The folder of a package."""
    under_test = os.environ.get("CODEX_UNDER_TEST")  # `make codex` names the packages of another Codex
    if under_test and name in CODEX_PACKAGES:
        return _there(Path(under_test) / CODEX_PACKAGES[name], "make codex")
    return _there(NODE_MODULES / name, "make judges")


def newest_codex() -> Path:
    """The native program inside the package of the newest Codex."""
    (program,) = package("@openai/codex-linux-x64").glob("vendor/*/bin/codex")
    return program


def _there(path: Path, how: str) -> Path:
    assert path.exists(), f"cannot run this test: {path} is not installed; say `{how}`"
    return path


@contextlib.asynccontextmanager
async def started(
    argv: Sequence[str], setup: Setup, environment: dict[str, str]
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Start a client in the place of a setup. At the end neither it nor anything that it started is left."""
    process = await asyncio.create_subprocess_exec(
        *argv,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=setup.work,
        env=setup.env() | environment,
        start_new_session=True,
        **setup.credentials,
        limit=16 * 1024 * 1024,  # one line may hold a whole tool result
    )
    try:
        async with asyncio.timeout(CLIENT_PATIENCE):
            yield process
        await all_ended(setup.home)
    finally:
        end_all(setup.home)  # nothing, unless the test has failed
        await process.wait()
        process._transport.close()  # type: ignore[attr-defined]  # else its pipes stay open until collected


async def run(argv: Sequence[str], setup: Setup, environment: dict[str, str], said: bytes = b"") -> Ended:
    """Run a client to its end. `said`: what its person types."""
    async with started(argv, setup, environment) as process:
        stdout, stderr = await process.communicate(said)  # which closes its stdin: some clients read it to the end
    assert process.returncode is not None
    return Ended(process.returncode, stdout.decode(), stderr.decode())
