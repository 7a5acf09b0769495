"""`codex-mcp close`: close an agent, after it has summed up its work."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Final

from codex_mcp.cli.people.cmd_interrupt import call_for_agent
from codex_mcp.cli.people.finding import add_agent_arguments

DESCRIPTION: Final = "Close an agent: stop what it does, let it sum up its work, and free its name. It can be resumed."

COMMAND: Final = "close"
TOOL: Final = "codex_close"


def configure(parser: argparse.ArgumentParser) -> None:
    add_agent_arguments(parser)


def run(arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str) -> int:
    return call_for_agent(COMMAND, TOOL, arguments, environment, cwd)
