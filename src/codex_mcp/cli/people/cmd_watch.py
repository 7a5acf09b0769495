"""`codex-mcp watch`: follow an agent while it works. It ends when the agent is closed, or its server ends."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import sys
from collections.abc import Mapping
from typing import Final

from codex_mcp.base.errors import Refused
from codex_mcp.base.printable import foreign, one_line
from codex_mcp.base.tasks import TaskSet
from codex_mcp.cli.demo.screen import Screen
from codex_mcp.cli.people.finding import add_agent_arguments, caller_of, find_agent, server_of
from codex_mcp.cli.people.watched import Watched
from codex_mcp.cli.state.folder import state_folder
from codex_mcp.control.failures import CannotReach
from codex_mcp.control.server import Server
from codex_mcp.rpc.errors import RequestFailed
from codex_mcp.team.agent import Agent
from codex_mcp.wire import control

DESCRIPTION: Final = "Follow an agent while it works: what it says, runs and changes, as it happens. Ctrl-C ends this."

COMMAND: Final = "watch"


def configure(parser: argparse.ArgumentParser) -> None:
    add_agent_arguments(parser)


def run(arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str) -> int:
    folder = state_folder(arguments, environment, cwd)
    agent = find_agent(folder, arguments.name)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # an old terminal may lack some characters
    screen = Screen(sys.stdout)
    try:
        asyncio.run(_watch(folder, agent, screen, environment))
    finally:
        screen.settle()
    return 0


async def _watch(folder: str, agent: Agent, screen: Screen, environment: Mapping[str, str]) -> None:
    watched = Watched(screen, agent)
    async with server_of(folder, agent, caller_of(COMMAND, environment), watched.told) as server:
        try:
            followed = await server.follow([control.THREAD + agent.codex_id, control.QUESTIONS])
        except RequestFailed as exc:
            raise Refused(f"cannot follow it: {foreign(str(exc))}") from exc
        row = followed.agents[0] if followed.agents else {}
        state = one_line(str(row.get("thread_state", "")))
        title = f"{one_line(agent.identity)} ({agent.codex_id}) is {state}"
        screen.heading(title, one_line(agent.cwd))
        for question in followed.questions:
            watched.question(question)
        why = await _wait_for_end(server, watched)
    if why is not None:
        raise why
    screen.line(f"{one_line(agent.identity)} is not run by this server any longer.")


async def _wait_for_end(server: Server, watched: Watched) -> CannotReach | None:
    """Wait until there is nothing more to follow; why, if the server is gone."""
    tasks = TaskSet()
    lost = tasks.spawn(server.until_lost(), name="end of the server")
    left = tasks.spawn(watched.left.wait(), name="end of the agent")
    try:
        await asyncio.wait([lost, left], return_when=asyncio.FIRST_COMPLETED)
        return None if left.done() else lost.result()
    finally:
        with contextlib.suppress(asyncio.CancelledError):
            await tasks.aclose()
