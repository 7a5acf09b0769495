"""The program `codex-mcp`: finds the command, loads it alone, and turns refusals into a sentence and exit code 2."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from codex_mcp import __version__
from codex_mcp.base.errors import Explained, Refused


class Command(Protocol):
    """What a module `cmd_*` offers."""

    DESCRIPTION: str

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the command's flags."""

    def run(self, arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str) -> int:
        """Do it; return the exit code."""


COMMANDS: Final = {
    "mcp-server": ("codex_mcp.cli.cmd_mcp_server", "serve Codex agents to an MCP client over stdio"),
    "serve": ("codex_mcp.cli.cmd_serve", "serve a team of agents with names to an MCP client"),
    "exec-server": ("codex_mcp.cli.exec.cmd_exec_server", "run commands and files for an agent, here or elsewhere"),
    "exec": ("codex_mcp.cli.exec.cmd_exec", "run a command on an exec-server as if it were local"),
    "config": ("codex_mcp.cli.cmd_config", "show every setting, and where it came from"),
    "threads": ("codex_mcp.cli.state.cmd_threads", "list the agents of the state folder, and forget old ones"),
    "summary": ("codex_mcp.cli.state.cmd_summary", "show what an agent said of its work when it was closed"),
    "audit": ("codex_mcp.cli.state.cmd_audit", "show what the agents did, and what came of it"),
    "demo": ("codex_mcp.cli.demo.cmd_demo", "see an agent fix a failing test, without an account or a network"),
}

FAILED: Final = 1
USAGE_ERROR: Final = 2

PIPE_CLOSED: Final = 141
"""What a shell says of a program that wrote to somebody who had gone."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run `codex-mcp COMMAND …`."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] and words[0] in COMMANDS:
        return _run(words[0], words[1:])
    parser = argparse.ArgumentParser(
        prog="codex-mcp",
        description="Codex coding agents for MCP clients.",
        epilog="codex-mcp COMMAND --help tells more about a command.",
    )
    parser.add_argument("--version", action="version", version=f"codex-mcp {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, (_module, summary) in COMMANDS.items():
        commands.add_parser(name, help=summary)
    parser.parse_args(words)
    raise AssertionError("argparse lets nothing through but the commands, which ran above")


def mcp_server_main() -> int:
    """Run `codex-mcp-server …`, which is `codex-mcp mcp-server …`."""
    return _run("mcp-server", sys.argv[1:])


def exec_server_main() -> int:
    """Run `codex-exec-server …`, which is `codex-mcp exec-server …`."""
    return _run("exec-server", sys.argv[1:])


HELP_WIDTH: Final = 100
LEAST_HELP_WIDTH: Final = 40


class _HelpFormatter(argparse.HelpFormatter):
    """Fits the terminal. It asks for the width only when help is shown: that takes some milliseconds."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=HELP_WIDTH)

    def format_help(self) -> str:
        """Lay it out."""
        with contextlib.suppress(OSError, ValueError):  # not a terminal
            self._width = max(LEAST_HELP_WIDTH, min(HELP_WIDTH, _columns() - 2))
            self._max_help_position = min(self._max_help_position, self._width - LEAST_HELP_WIDTH // 2)
        return super().format_help()


def _columns() -> int:
    """Of the terminal, or what COLUMNS says. Raises OSError or ValueError if there is neither."""
    return int(os.environ.get("COLUMNS") or os.get_terminal_size(sys.stdout.fileno()).columns)


def _replace_closed_streams() -> None:
    """Else the next thing that we open, a socket perhaps, would have their number and be taken for stdin or stdout."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)
            os.dup2(opened, number)
            setattr(sys, name, open(number, "w" if number else "r"))  # noqa: SIM115  as long as we live
            if opened != number:
                os.close(opened)


def _working_folder() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError as exc:
        raise Explained("cannot work in a folder that is gone; change to another one") from exc


def _run(name: str, words: Sequence[str]) -> int:
    command: Command = importlib.import_module(COMMANDS[name][0])
    parser = argparse.ArgumentParser(
        prog=f"codex-mcp {name}", description=command.DESCRIPTION, formatter_class=_HelpFormatter
    )
    _replace_closed_streams()
    command.configure(parser)
    arguments = parser.parse_args(words)
    try:
        return command.run(arguments, os.environ, _working_folder())
    except Refused as exc:
        print(f"codex-mcp {name}: {exc}", file=sys.stderr)
        return USAGE_ERROR
    except Explained as exc:
        print(f"codex-mcp {name}: {exc}", file=sys.stderr)
        return FAILED
    except BrokenPipeError:
        # Whoever reads our output has heard enough. Python would complain once more when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
