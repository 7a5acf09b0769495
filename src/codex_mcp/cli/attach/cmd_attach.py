"""`codex-mcp attach`: open the Codex TUI on an agent that runs."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from msgspec import Struct

from codex_mcp.base.blocking import in_thread
from codex_mcp.base.disk.scratch import scratch_folder
from codex_mcp.base.errors import Refused
from codex_mcp.base.printable import foreign
from codex_mcp.base.tasks import TaskSet
from codex_mcp.cli.account.codex_program import CannotRun, CodexHere, codex_here
from codex_mcp.cli.attach.tui_socket import TuiSocket
from codex_mcp.cli.people.finding import add_agent_arguments, caller_of, find_agent, not_running
from codex_mcp.cli.state.folder import state_folder
from codex_mcp.control import failures
from codex_mcp.control.pipe import Pipe, attach_pipe
from codex_mcp.team.agent import Agent
from codex_mcp.transports.local.sockets import address_for_others
from codex_mcp.wire import control

DESCRIPTION: Final = (
    "Open the Codex TUI on an agent that a server runs: its conversation as it goes on, what it asks, and your own "
    "prompts. Leaving the TUI (/quit) disturbs nothing."
)

COMMAND: Final = "attach"

BY_SIGNAL: Final = 128
"""A shell reports a program that a signal has ended with this and the signal's number."""

END_GRACE: Final = 3.0
"""Seconds from SIGTERM to SIGKILL for a TUI that has no agent any more."""

MODES_OFF: Final = "\x1b[?1049l\x1b[?2004l\x1b[?1004l\x1b[<u\x1b[?25h\x1b[0m\r\n"
"""What a TUI that was killed has left switched on: its screen, pastes, focus, keys; the cursor was hidden."""


class Attaching(Struct, frozen=True):
    """What is opened, and where."""

    folder: str
    name: str
    """As the person calls the agent."""
    codex: CodexHere
    read_only: bool
    environment: Mapping[str, str]


def configure(parser: argparse.ArgumentParser) -> None:
    add_agent_arguments(parser)
    parser.add_argument("--read-only", action="store_true", help="only watch: no prompts, no stops, no answers")
    parser.add_argument(
        "--codex-home", metavar="DIR", help="the TUI's own folder (default: $CODEX_HOME, else ~/.codex)"
    )
    parser.add_argument("--codex-bin", metavar="FILE", help="the Codex to run (default: as a server here would choose)")


def run(arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str) -> int:
    folder = state_folder(arguments, environment, cwd)
    agent = find_agent(folder, arguments.name)
    if not agent.is_active:
        raise not_running(agent)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise Refused(
            f"the Codex TUI needs a terminal; codex-mcp show {foreign(arguments.name)} prints the conversation"
        )
    codex = codex_here(arguments, environment, cwd)
    if codex.binary.is_old:
        raise Refused(
            f"Codex {codex.binary.full_version} has no TUI that can be attached; name a newer one in --codex-bin"
        )
    attaching = Attaching(folder, agent.codex_id, codex, arguments.read_only, environment)
    with _terminal_restored() as restore:
        return asyncio.run(_attach(attaching, agent, restore))


@contextlib.contextmanager
def _terminal_restored() -> Iterator[Callable[[], None]]:
    """The terminal as it was before; calling what is given also leaves the screen of a TUI that was killed."""
    before = termios.tcgetattr(sys.stdin.fileno())
    was_killed: list[bool] = []
    try:
        yield lambda: was_killed.append(True)
    finally:
        if was_killed:
            sys.stdout.write(MODES_OFF)
            sys.stdout.flush()
        termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, before)


async def _attach(attaching: Attaching, agent: Agent, killed: Callable[[], None]) -> int:
    first, told = await _connect(attaching)
    connect = partial(_connect, attaching, told.thread_id)
    with _private_folder(attaching.codex) as place:
        socket = TuiSocket(place, connect, first)
        try:
            await socket.open()
            with address_for_others(socket.path) as address:
                argv = [attaching.codex.binary.path, "--remote", f"unix://{address}", "resume", told.thread_id]
                return await _until_it_ends(_started(argv, attaching, agent), socket, killed)
        finally:
            await socket.aclose()


async def _until_it_ends(tui: subprocess.Popen[bytes], socket: TuiSocket, killed: Callable[[], None]) -> int:
    """Serve the TUI; its exit code. Raises Explained if there is no agent any more."""
    loop, tasks = asyncio.get_running_loop(), TaskSet()
    for number in (signal.SIGINT, signal.SIGQUIT):  # keys of the TUI; only it decides what they mean
        loop.add_signal_handler(number, lambda: None)
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, tui.terminate)
    try:
        socket.serve(tui.pid)
        ended = in_thread(tui.wait)
        lost = tasks.spawn(socket.lost(), name="end of the agent")
        both: list[asyncio.Future[Any]] = [ended, lost]
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if ended.done():
            return ended.result() if ended.result() >= 0 else BY_SIGNAL - ended.result()
        killed()
        tui.terminate()
        await asyncio.wait([ended], timeout=END_GRACE)
        raise lost.result()
    finally:
        tui.kill()
        await tasks.aclose()


@contextlib.contextmanager
def _private_folder(codex: CodexHere) -> Iterator[str]:
    try:
        with scratch_folder(codex.home) as place:
            yield place
    except OSError as exc:
        raise CannotRun(
            f"cannot make a folder in {codex.home}: {exc.strerror or exc}; free it, or name another"
        ) from exc


async def _connect(attaching: Attaching, conversation: str = "") -> tuple[Pipe, control.Attached]:
    """A connection to the server that runs the agent now. Raises CannotReach, or NotRunning or Refused if the agent, or
    its `conversation`, is there no more.
    """
    agent = find_agent(attaching.folder, attaching.name)
    if agent.is_closed:
        raise not_running(agent)
    if not agent.is_active or agent.owner is None:
        raise failures.ended("its server")  # another one may take the agent over
    asked = control.Attach(agent.codex_id, attaching.read_only)
    caller = caller_of(COMMAND, attaching.environment)
    name = f"server process {agent.owner.pid}"
    pipe, told = await attach_pipe(attaching.folder, agent.owner.node, name, caller, asked)
    if conversation and told.thread_id != conversation:
        await pipe.aclose()
        raise Refused(f"agent {foreign(agent.identity)} has begun another conversation; attach again to see it")
    return pipe, told


def _started(argv: Sequence[str], attaching: Attaching, agent: Agent) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            argv, env=attaching.codex.environment, cwd=agent.cwd if os.path.isdir(agent.cwd) else None
        )
    except OSError as exc:
        raise CannotRun(f"cannot run {argv[0]}: {exc.strerror}") from exc
