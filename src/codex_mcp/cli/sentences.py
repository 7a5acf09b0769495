"""Sentences for a person at a terminal: not cut inside a word, and commands in them can be run as they stand."""

from __future__ import annotations

import os
import re
import sys
import textwrap
from typing import IO, Final

from codex_mcp.base.processes.programs import PROGRAM, our_command
from codex_mcp.cli.commands import ALIASES, COMMANDS
from codex_mcp.cli.output import print_text

NARROWEST: Final = 40
WIDEST: Final = 100

_COMMAND: Final = re.compile(rf"(?<![\w/.-]){PROGRAM} (?=(?:{'|'.join({**COMMANDS, **ALIASES})})\b)(?!\S+:)")
"""A command of ours in a sentence; `codex-mcp install: …` at its beginning says who speaks."""


def runnable(text: str, program: str | None = None) -> str:
    """The text with our program named so that it can be run here, wherever it is installed."""
    named = our_command() if program is None else program
    return text if named == PROGRAM else _COMMAND.sub(lambda _: f"{named} ", text)


def say(text: str) -> None:
    """Print a sentence."""
    print_text(fitted(runnable(text), sys.stdout))


def complain(command: str, text: str) -> None:
    """Print a sentence about what is wrong."""
    print(fitted(f"{PROGRAM} {command}: {runnable(text)}", sys.stderr), file=sys.stderr, flush=True)


def fitted(text: str, stream: IO[str]) -> str:
    """The text, wrapped if it goes to a terminal."""
    try:
        width = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        return text
    room = max(NARROWEST, min(WIDEST, width - 1))
    lines = (textwrap.wrap(line, room, break_long_words=False, break_on_hyphens=False) for line in text.split("\n"))
    return "\n".join("\n".join(line) for line in lines)
