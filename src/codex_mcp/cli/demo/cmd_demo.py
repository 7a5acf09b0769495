"""`codex-mcp demo`: an agent fixes a failing test, and the person at the terminal watches and decides.

Codex, its sandbox, the repository and the test are real; the model plays a script. Exit codes: 0 the test passes
afterwards, 1 it does not, 2 the demo cannot run here, 130 interrupted.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from codex_mcp.base.processes.orphans import adopt_orphans, kill_orphans
from codex_mcp.base.processes.programs import OURSELVES, our_command
from codex_mcp.cli.demo import card
from codex_mcp.cli.demo.person import AlwaysApprove, Person
from codex_mcp.cli.demo.remote_executor import remote_executor
from codex_mcp.cli.demo.sandbox import Rights, find_rights
from codex_mcp.cli.demo.screen import Screen, Who
from codex_mcp.cli.demo.show import Decider, Show
from codex_mcp.cli.demo.workshop import Workshop, open_workshop
from codex_mcp.cli.mcp_client.client import ServerLaunch, connect
from codex_mcp.cli.mcp_client.messages import ToolResult
from codex_mcp.scripted_model.load import PACKAGED

DESCRIPTION: Final = "Watch a Codex agent fix a failing test, without an account or a network."

TITLE: Final = "codex-mcp demo: a Codex agent fixes a failing test"
INTRODUCTION: Final = "No account, no network: the model plays a script. All the rest is real."
PROMPT: Final = "The test in this repository fails. Find the mistake and fix it. Run the test with `{test}`."

REMOTE: Final = (
    "Its commands and changes happen on an executor that listens nowhere: it is reached through {address}, "
    "which cannot read what it carries."
)

TEST_FAILS: Final = 1
INTERRUPTED: Final = 128 + signal.SIGINT

PROGRAM: Final = "codex-mcp"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help="allow what Codex asks for, without asking you")
    parser.add_argument(
        "--remote",
        action="store_true",
        help="let the agent work on an executor behind a rendezvous, all on this machine",
    )
    parser.add_argument(
        "--team", action="store_true", help="three agents in worktrees instead, and the page to look after them"
    )
    parser.add_argument("--keep", action="store_true", help="keep the demo's folder and print its path")


def run(arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str) -> int:
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # an old terminal may lack some characters
    screen = Screen(sys.stdout)
    adopt_orphans()
    try:
        with _stoppable(), open_workshop(environment, keep=arguments.keep) as workshop:
            try:
                if arguments.team:
                    from codex_mcp.cli.demo.crew import play_crew  # noqa: PLC0415  loads a web server

                    asyncio.run(play_crew(screen, workshop))
                    return 0
                with remote_executor(workshop) if arguments.remote else contextlib.nullcontext(()) as flags:
                    passed = _play(screen, workshop, _decider(screen, yes=arguments.yes), flags)
            finally:
                screen.settle()
                kill_orphans(())
                if arguments.keep:
                    screen.line(f"The folder is kept: {workshop.folder}")
    except KeyboardInterrupt:
        screen.line()
        screen.line("Interrupted. Nothing is left running.")
        return INTERRUPTED
    screen.line(f"\nUse it for real, in Claude Code:\n  {our_command(environment.get('PATH', ''))} install claude")
    return 0 if passed else TEST_FAILS


def _decider(screen: Screen, *, yes: bool) -> Decider:
    if yes:
        return AlwaysApprove(screen, "--yes was given")
    if not (screen.is_terminal and sys.stdin.isatty()):
        return AlwaysApprove(screen, "there is no terminal to ask at")
    return Person(screen, sys.stdin.fileno())


def _play(screen: Screen, workshop: Workshop, decider: Decider, flags: Sequence[str]) -> bool:
    started = time.monotonic()
    screen.heading(TITLE, INTRODUCTION)
    if flags:
        screen.line(REMOTE.format(address=flags[1]))
    rights = find_rights(str(workshop.codex_home), workshop.environment)
    show = Show(screen, decider, str(workshop.repository))
    result = asyncio.run(_repair(screen, workshop, rights, show, flags))
    check = workshop.run_test()
    rows = card.rows(result, check.last_line, str(workshop.repository), time.monotonic() - started)
    screen.card(card.verdict(result, passed=check.passed, refused=show.refused), rows, good=check.passed)
    return check.passed


async def _repair(screen: Screen, workshop: Workshop, rights: Rights, show: Show, flags: Sequence[str]) -> ToolResult:
    prompt = PROMPT.format(test=workshop.test_command)
    async with connect(_server(workshop, flags), show) as client:
        greeting = await client.initialize()
        server = f"codex-mcp {greeting.server_info.version} on Codex {rights.codex_version}, over stdio."
        screen.says(Who.SERVER, f"{server} {_explained(rights)}")
        screen.says(Who.YOU, prompt)
        return await client.call_tool(
            "codex",
            {
                "prompt": prompt,
                "cwd": str(workshop.repository),
                "sandbox": rights.sandbox,
                "approval-policy": rights.approval_policy,
                "wait-seconds": 0,  # a person may take their time
            },
        )


def _server(workshop: Workshop, flags: Sequence[str]) -> ServerLaunch:
    """The server as any client starts it, except that it ends at once when the demo does."""
    script = str(PACKAGED / "repair.toml")
    argv = [*OURSELVES, "mcp-server", "--scripted", script, "--shutdown-grace", "0"]
    argv += flags
    return ServerLaunch(argv, workshop.environment, str(workshop.repository))


def _explained(rights: Rights) -> str:
    if not rights.trouble:
        return "Commands run in a sandbox and may only read; before a file is changed, you are asked."
    return (
        f"The sandbox does not work on this machine ({rights.trouble}), so commands run without one, "
        "and you are asked before each command and each change."
    )


@contextlib.contextmanager
def _stoppable() -> Iterator[None]:
    """Clean up after SIGTERM and SIGHUP as after Ctrl-C."""
    numbers = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is signal.SIG_DFL]
    for number in numbers:
        # As a Ctrl-C: a running event loop handles it in order and is not interrupted within a step.
        signal.signal(number, lambda _number, _frame: signal.raise_signal(signal.SIGINT))
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)
