"""`codex-mcp show`: what an agent was asked, did and answered, whether a server runs it or not."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import Struct

from codex_mcp.base.blocking import in_thread
from codex_mcp.base.errors import Refused
from codex_mcp.base.printable import foreign, visible
from codex_mcp.base.settings.groups import Settings
from codex_mcp.cli.output import SCHEMA, print_json, print_text
from codex_mcp.cli.people.finding import (
    NotRunning,
    add_agent_arguments,
    caller_of,
    find_agent,
    for_agent,
    server_of,
)
from codex_mcp.cli.state.folder import state_folder
from codex_mcp.codex.launch import launcher
from codex_mcp.config.load import load
from codex_mcp.control.failures import CannotReach
from codex_mcp.control.server import Caller
from codex_mcp.mcp.resources.history import ThreadHistory
from codex_mcp.mcp.resources.transcript import transcript
from codex_mcp.mcp.resources.uris import PREFIX
from codex_mcp.rpc.errors import RequestFailed
from codex_mcp.rpc.peer import no_pace
from codex_mcp.team.agent import Agent
from codex_mcp.threads.threads import Threads
from codex_mcp.wire import control

DESCRIPTION: Final = "Show the conversation of an agent, also of one that no server runs."

COMMAND: Final = "show"

SO_FAR: Final = "this is what its Codex has written so far, and a turn that still runs is called interrupted"


class _Content(Struct, frozen=True):
    text: str = ""


class _Read(Struct, frozen=True):
    """The answer to `resources/read`."""

    contents: tuple[_Content, ...] = ()


def configure(parser: argparse.ArgumentParser) -> None:
    add_agent_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str) -> int:
    folder = state_folder(arguments, environment, cwd)
    agent = find_agent(folder, arguments.name)
    settings = load(argparse.Namespace(state_dir=arguments.state_dir), environment, cwd).settings
    text = asyncio.run(_transcript(folder, agent, settings, environment))
    if arguments.json:
        about = {"codex_id": agent.codex_id, "identity": agent.identity, "thread_id": agent.thread_id}
        print_json({"schema": SCHEMA, **about, "status": agent.status, "text": text})
    else:
        print_text(visible(text).rstrip("\n"))
    return 0


async def _transcript(folder: str, agent: Agent, settings: Settings, environment: Mapping[str, str]) -> str:
    if agent.thread_id is None:
        raise Refused(f"agent {foreign(agent.identity)} ({agent.codex_id}) has no conversation yet")
    try:
        return await _ask(folder, agent, agent.thread_id, caller_of(COMMAND, environment))
    except NotRunning:
        pass
    except CannotReach as exc:
        print(f"codex-mcp {COMMAND}: {exc}; {SO_FAR}", file=sys.stderr)
    return await _read_here(agent.thread_id, settings, environment)


async def _ask(folder: str, agent: Agent, thread_id: str, caller: Caller) -> str:
    """What the server that runs it says."""
    async with server_of(folder, agent, caller) as server:
        params = {"uri": PREFIX + thread_id, "_meta": {control.ACTS_FOR: for_agent(agent, caller)}}
        try:
            answer = await server.call("resources/read", params)
        except RequestFailed as exc:
            raise Refused(f"cannot read the conversation: {foreign(str(exc))}") from exc
    return "\n".join(content.text for content in msgspec.json.decode(answer, type=_Read).contents)


async def _read_here(thread_id: str, settings: Settings, environment: Mapping[str, str]) -> str:
    """What a Codex of our own reads from its files. It continues nothing."""
    threads = Threads(settings.core, settings.calls, launcher(settings.core, environment), no_pace)
    try:
        history = ThreadHistory(threads, settings.core.codex_home, settings.core.max_message_bytes // 2)
        thread = await history.thread(thread_id)
        kept = await history.turns(thread)
        return await in_thread(transcript, thread, kept.turns, is_cut=kept.is_cut)
    finally:
        await threads.aclose()
