"""Which agent a person means, and the server that runs it."""

from __future__ import annotations

import argparse
import contextlib
import os
import pwd
from collections.abc import AsyncIterator, Mapping

from codex_mcp.base.errors import Explained, NotFound, Refused
from codex_mcp.base.printable import foreign, one_line, visible
from codex_mcp.cli.state.folder import add_state_argument, agents_in, readable
from codex_mcp.control.server import Caller, Server, Told, connect_server
from codex_mcp.rpc.errors import RequestFailed
from codex_mcp.team.agent import Agent
from codex_mcp.wire import control


class NotRunning(Explained):
    """No server runs the agent."""


class ToolFailed(Explained):
    """The server refused what was asked of it."""


def add_agent_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="its identity, codex_id or thread id")
    add_state_argument(parser)


def find_agent(folder: str, name: str) -> Agent:
    """The agent of this name: one that runs, else the one used last. Raises NotFound, or Refused if several that run
    have it."""
    with readable(folder):
        found = [each for each in agents_in(folder) if name in (each.identity, each.codex_id, each.thread_id)]
    running = [each for each in found if each.is_active]
    if len(running) > 1:
        which = ", ".join(f"{each.codex_id} (team {foreign(each.team)})" for each in running)
        raise Refused(f"{foreign(name)} names several agents: {which}; give the codex_id of one")
    if not found:
        raise NotFound(f"there is no agent {one_line(name)} in {folder}; codex-mcp threads --all lists the agents")
    return (running or found)[0]


def server_names(folder: str) -> dict[str, str]:
    """How a person knows the servers that run agents, by node."""
    owners = [each.owner for each in agents_in(folder) if each.owner is not None]
    return {owner.node: f"server process {owner.pid}" for owner in owners}


def caller_of(command: str, environment: Mapping[str, str]) -> Caller:
    """Who runs this command: $ATM_IDENTITY, as for mail, else the login name."""
    return Caller(program=f"codex-mcp {command}", person=environment.get("ATM_IDENTITY") or _login_name())


def _login_name() -> str:
    with contextlib.suppress(KeyError):
        return pwd.getpwuid(os.geteuid()).pw_name
    return str(os.geteuid())


def not_running(agent: Agent) -> NotRunning:
    return NotRunning(
        f"no server runs agent {foreign(agent.identity)} ({agent.codex_id}): it is {agent.status}; "
        f"codex-mcp show {agent.codex_id} shows what it did"
    )


@contextlib.asynccontextmanager
async def server_of(folder: str, agent: Agent, caller: Caller, told: Told = lambda _: None) -> AsyncIterator[Server]:
    """The server that runs the agent. Raises NotRunning or CannotReach."""
    if not agent.is_active or agent.owner is None:
        raise not_running(agent)
    name = f"server process {agent.owner.pid}"
    async with connect_server(folder, agent.owner.node, caller, name=name, told=told) as (server, _):
        yield server


def for_agent(agent: Agent, caller: Caller) -> control.ActsFor:
    """Whoever uses this terminal acts for the principal whose agent it is."""
    return control.ActsFor(principal=agent.principal, person=caller.person, via=caller.program)


async def ask_tool(server: Server, tool: str, agent: Agent, caller: Caller) -> str:
    """Call a tool that takes an agent; what it says. Raises ToolFailed or CannotReach."""
    try:
        result = await server.call_tool(tool, {"id": agent.codex_id}, for_agent(agent, caller))
    except RequestFailed as exc:
        raise ToolFailed(f"{server.name} refused: {foreign(str(exc))}") from exc
    text = visible("\n".join(result.texts))
    if result.is_error:
        raise ToolFailed(text)
    return text
