"""`codex-mcp serve`: MCP with a team: agents with names, that are remembered."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Mapping
from typing import Final

from codex_mcp.cli.serving import add_serving_arguments, serve
from codex_mcp.config.load import Loaded
from codex_mcp.mcp.methods import Around
from codex_mcp.mcp.product import MakeProduct
from codex_mcp.mcp.team_product import team_product
from codex_mcp.state.contract import Store
from codex_mcp.team.crew import NEWEST

DESCRIPTION: Final = "Serve a team of Codex agents to an MCP client over stdin and stdout, or with --port over HTTP."


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's flags."""
    parser.add_argument(
        "--resume",
        nargs="?",
        const=NEWEST,
        metavar="ID",
        help="let the first call go on with this agent (codex_id, identity or thread id), or with the last one of the "
        "default name",
    )
    add_serving_arguments(parser, with_team=True)


def run(arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str) -> int:
    """Serve until stdin ends."""

    def team(loaded: Loaded, around: Around | None) -> MakeProduct:
        async def open_store() -> Store:
            # Not imported at the top: nobody needs the database before the first call.
            opened: Store = await importlib.import_module("codex_mcp.state.embedded.store").open_store(
                loaded.settings.state_dir
            )
            return opened

        return team_product(loaded.roles, open_store, arguments.resume, around)

    return serve(arguments, environment, cwd, team)
