"""`codex-mcp interrupt`: stop what an agent is doing, and keep the agent."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Mapping
from typing import Final

from codex_mcp.cli.output import print_text
from codex_mcp.cli.people.finding import (
    add_agent_arguments,
    ask_tool,
    caller_of,
    find_agent,
    server_of,
)
from codex_mcp.cli.state.folder import state_folder
from codex_mcp.team.agent import Agent

DESCRIPTION: Final = "Stop the turn that an agent is working on. The agent stays, and goes on with prompts that wait."

COMMAND: Final = "interrupt"
TOOL: Final = "codex_interrupt"


def configure(parser: argparse.ArgumentParser) -> None:
    add_agent_arguments(parser)


def run(arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str) -> int:
    return call_for_agent(COMMAND, TOOL, arguments, environment, cwd)


def call_for_agent(
    command: str, tool: str, arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str
) -> int:
    """Let the server of an agent run this tool for it, and print what it says."""
    folder = state_folder(arguments, environment, cwd)
    agent = find_agent(folder, arguments.name)
    print_text(asyncio.run(_call(folder, agent, command, tool, environment)))
    return 0


async def _call(folder: str, agent: Agent, command: str, tool: str, environment: Mapping[str, str]) -> str:
    caller = caller_of(command, environment)
    async with server_of(folder, agent, caller) as server:
        return await ask_tool(server, tool, agent, caller)
