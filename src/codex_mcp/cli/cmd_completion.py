"""`codex-mcp completion`: a script that completes our commands, flags and the names of agents in a shell."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator, Mapping
from typing import Final

import shtab

from codex_mcp.cli.commands import COMMANDS
from codex_mcp.cli.main import load_command
from codex_mcp.cli.output import print_text
from codex_mcp.cli.parser import Parser
from codex_mcp.cli.state.folder import agents_in
from codex_mcp.config.load import load, teams_folder
from codex_mcp.mail.address import is_agent_name
from codex_mcp.mail.store import MailStore

DESCRIPTION: Final = "Print a script that completes the commands and flags of codex-mcp in your shell."

SHELLS: Final = ("bash", "zsh", "fish")
AGENTS: Final = "agents"
MEMBERS: Final = "members"

COMPLETED: Final = {"FILE": shtab.FILE, "DIR": shtab.DIRECTORY}
"""By the metavar of a flag."""

NAMES: Final[Mapping[str, Mapping[str, str]]] = {
    "summary": {"id": AGENTS},
    "threads": {"identity": AGENTS},
    "audit": {"identity": AGENTS},
    "mail": {"identity": MEMBERS, "to": MEMBERS, "sender": MEMBERS},
}
"""By command and argument: whose names are offered."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "Where the script belongs: docs/commands.md. To try it in bash: . <(codex-mcp completion bash)"
    parser.add_argument(
        "shell",
        choices=(*SHELLS, AGENTS, MEMBERS),
        help="your shell; `agents` and `members` print the names that the script offers",
    )


def run(arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str) -> int:
    if arguments.shell in SHELLS:
        print_text(shtab.complete(whole_parser(), shell=arguments.shell))
        return 0
    # A shell would expand what is special to it.
    names = {name for name in _names(arguments.shell, environment, cwd) if is_agent_name(name)}
    if names:
        print_text("\n".join(sorted(names)))
    return 0


def _names(whose: str, environment: Mapping[str, str], cwd: str) -> Iterator[str]:
    settings = load(argparse.Namespace(), environment, cwd).settings.team
    yield from (agent.identity for agent in agents_in(settings.state_dir))
    if whose == MEMBERS:
        yield from asyncio.run(MailStore(teams_folder(environment), settings.state_dir).known(settings.team))


def whole_parser() -> Parser:
    """One parser with all commands and their flags."""
    parser = Parser("codex-mcp", "Codex coding agents for MCP clients.")
    commands = parser.add_subparsers(metavar="COMMAND")
    for name, summary in COMMANDS.items():
        command = load_command(name)
        below = commands.add_parser(name, help=summary, description=summary)  # shells show it
        command.configure(below)
        _complete_values(below, NAMES.get(name, {}))
    return parser


def _offered(whose: str) -> dict[str, object]:
    """How each shell offers these names, as shtab wants it. They are looked up when they are needed."""
    lookup, function = f"codex-mcp completion {whose} 2>/dev/null", f"_codex_mcp_{whose}"
    return {
        "bash": function,
        "zsh": function,
        "fish": f"({lookup})",
        "preamble": {
            "bash": f'{function}() {{ compgen -W "$({lookup})" -- "$1"; }}\n',
            "zsh": f'{function}() {{ compadd -- ${{(f)"$({lookup})"}} }}\n',
        },
    }


def _complete_values(parser: argparse.ArgumentParser, names: Mapping[str, str]) -> None:
    """Say how the values of this parser's arguments are completed, and those of the actions below it."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                _complete_values(below, names)
        elif action.dest in names:
            action.complete = _offered(names[action.dest])  # type: ignore[attr-defined]  # shtab reads it
        elif action.metavar in COMPLETED:
            action.complete = COMPLETED[str(action.metavar)]  # type: ignore[attr-defined]
