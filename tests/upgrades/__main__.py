"""`python -m tests.upgrades VERSION [SOURCES]`: keep the folders that a version writes; without SOURCES, this one."""

import asyncio
import os
import signal
import sys
import tempfile
from pathlib import Path

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.processes import all_ended
from tests.support.servers.mcp_server import SOURCES, Setup
from tests.support.team.scenes import TEAM_SCRIPT
from tests.support.team.team_server import TeamServer, say
from tests.upgrades.kept import keep


async def record(folder: Path, sources: Path) -> None:
    """A closed agent, one whose server was killed, and a named session."""
    of_version = {"PYTHONPATH": str(sources)}
    async with ScriptedModel(load_script(TEAM_SCRIPT)) as model:
        overrides = model.codex_overrides()
        async with TeamServer(Setup(folder, overrides, environment=of_version, command="serve")) as server:
            await server.initialize()
            await server.start(say("The blue door."), identity="closed")
            await server.run("codex_close", {"identity": "closed"})
            await server.start(say("The green door."), identity="left")
            await server.run("codex-reply", {"identity": "left", "prompt": say("The red door.")})
            os.kill(server.process.pid, signal.SIGKILL)
            await server.exit_code()
            await all_ended(server.setup.home)
        async with TeamServer(Setup(folder, overrides, ["--tools", "sessions"], of_version)) as server:
            await server.initialize()
            await server.run("codex", {"prompt": say("The white door."), "sessionId": "shop"})


def main(version: str, sources: str = str(SOURCES)) -> None:
    with tempfile.TemporaryDirectory(prefix="codex-mcp-upgrades-") as folder:
        asyncio.run(record(Path(folder), Path(sources).resolve()))
        sys.stdout.write(f"{keep(Path(folder), version)}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
