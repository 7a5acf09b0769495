"""Cores that may outlive their server: supervisors on one state folder, and forgeries of what they leave."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
from msgspec.structs import replace

from codex_mcp.base.processes.offspring import children
from codex_mcp.codex.launch import launcher, outliving
from codex_mcp.codex.supervisor import Launcher, Supervisor
from codex_mcp.codex.surviving.record import CoreRecord, decoded
from codex_mcp.codex.surviving.terms import Survival
from tests.support.core.cores import Listener, environment_below, no_pace, settings_below
from tests.support.patience import PATIENCE

GRACE = 3600
"""Seconds: no test waits for it."""


def outliving_codex(folder: Path, seconds: int = GRACE) -> Launcher:
    """The real Codex, which may outlive its server."""
    settings = settings_below(folder).core
    survival = Survival(str(folder / "state"), seconds)
    return outliving(launcher(settings, environment_below(folder)), survival, settings.codex_home)


@contextlib.asynccontextmanager
async def server(
    folder: Path, seconds: int = GRACE, listener: Listener | None = None, launch: Launcher | None = None
) -> AsyncIterator[Supervisor]:
    """A supervisor of this state folder. Unless it has left its core, that is ended."""
    chosen = launch or outliving_codex(folder, seconds)
    supervisor = Supervisor(settings_below(folder).core, listener or Listener(), chosen, no_pace)
    try:
        yield supervisor
    finally:
        async with asyncio.timeout(PATIENCE):
            await supervisor.stop()


def guards() -> list[int]:
    """The guards that servers of this process have left."""
    return [pid for pid in children() if b"codex-mcp-guard" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def end_guards() -> None:
    """As their own process would be by now, if these were the guards of other processes."""
    for pid in guards():
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def record_path(folder: Path) -> Path:
    return folder / "state" / "core" / "core.json"


def the_record(folder: Path) -> CoreRecord:
    """What the last server of this folder has recorded."""
    found = decoded(record_path(folder).read_bytes())
    assert found is not None
    return found


def forge(folder: Path, **changed: object) -> None:
    """Change these fields of the record."""
    record_path(folder).write_bytes(msgspec.json.encode(replace(the_record(folder), **changed)))
