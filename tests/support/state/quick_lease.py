"""`python -m tests.support.state.quick_lease …` is `codex-mcp …` with leases of a few seconds: tests let them end."""

import contextlib
import functools
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from codex_mcp.cli.main import main
from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from codex_mcp.state.contract import Bounds
from codex_mcp.state.embedded import store
from codex_mcp.state.postgres import store as postgres_store
from tests.support.servers.mcp_server import Setup
from tests.support.team.scenes import TEAM_SCRIPT
from tests.support.team.team_server import TeamServer

TTL = 1.0

TTL_ON_POSTGRES = 3.0
"""Its renewals have a longer way."""


class QuickSetup(Setup):
    """How such a server is started."""

    def argv(self) -> list[str]:
        """The same flags, to this program."""
        python, _m, _module, *rest = super().argv()
        return [python, "-m", "tests.support.state.quick_lease", *rest]

    def env(self) -> dict[str, str]:
        """With the folder of the tests where Python looks."""
        environment = super().env()
        return {**environment, "PYTHONPATH": f"{environment['PYTHONPATH']}:{Path(__file__).parents[3]}"}


@contextlib.asynccontextmanager
async def quick_team(folder: Path, codex_flags: Sequence[str]) -> AsyncIterator[tuple[TeamServer, ScriptedModel]]:
    """Such a server, which has shaken hands, and its model. Those of one folder share their state."""
    async with ScriptedModel(load_script(TEAM_SCRIPT)) as model:
        setup = QuickSetup(folder, model.codex_overrides(), codex_flags, {}, "serve")
        async with TeamServer(setup) as server:
            await server.initialize()
            yield server, model


if __name__ == "__main__":
    store.open_store = functools.partial(store.open_store, bounds=Bounds(ttl=TTL))
    on_postgres = functools.partial(postgres_store.open_store, bounds=Bounds(ttl=TTL_ON_POSTGRES))
    postgres_store.open_store = on_postgres
    sys.exit(main())
