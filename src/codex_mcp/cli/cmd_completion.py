"""`codex-mcp completion`: a script that completes our commands and flags in a shell."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Final

import shtab

from codex_mcp.cli.main import COMMANDS, load_command
from codex_mcp.cli.output import print_text
from codex_mcp.cli.parser import Parser

DESCRIPTION: Final = "Print a script that completes the commands and flags of codex-mcp in your shell."

SHELLS: Final = ("bash", "zsh", "fish")

COMPLETED: Final = {"FILE": shtab.FILE, "DIR": shtab.DIRECTORY}
"""By the metavar of a flag."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "Where the script belongs: docs/commands.md. To try it in bash: . <(codex-mcp completion bash)"
    parser.add_argument("shell", choices=SHELLS, help="your shell")


def run(arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str) -> int:
    print_text(shtab.complete(whole_parser(), shell=arguments.shell))
    return 0


def whole_parser() -> Parser:
    """One parser with all commands and their flags."""
    parser = Parser("codex-mcp", "Codex coding agents for MCP clients.")
    commands = parser.add_subparsers(metavar="COMMAND")
    for name, summary in COMMANDS.items():
        command = load_command(name)
        below = commands.add_parser(name, help=summary, description=command.DESCRIPTION)
        command.configure(below)
        for action in below._actions:
            if action.metavar in COMPLETED:
                action.complete = COMPLETED[str(action.metavar)]  # type: ignore[attr-defined]  # shtab reads it
    return parser
