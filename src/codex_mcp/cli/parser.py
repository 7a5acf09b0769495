"""The parser of every command line of ours.

Help fits the terminal, flags cannot be abbreviated, errors are exceptions, and a misspelled flag names the right one.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import Final, NoReturn

from codex_mcp import __version__
from codex_mcp.base.errors import Refused
from codex_mcp.base.settings.nearest import nearest

HELP_WIDTH: Final = 100
LEAST_HELP_WIDTH: Final = 40

COMMAND_WORDS: Final = "COMMAND"
"""The metavar of words that are another program's command line."""


class BadUsage(Refused):
    """The words of a command line make no sense. The text begins with the usage."""

    def __init__(self, usage: str, sentence: str) -> None:
        super().__init__(f"{usage}{sentence}")
        self.sentence = sentence


class HelpFormatter(argparse.HelpFormatter):
    """Fits the terminal. It asks for the width only when it shows help: that takes some milliseconds."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=HELP_WIDTH)

    def format_help(self) -> str:
        self._width = help_width()
        self._max_help_position = min(self._max_help_position, self._width - LEAST_HELP_WIDTH // 2)
        return super().format_help()


def help_width() -> int:
    from shutil import get_terminal_size  # noqa: PLC0415  slow to load, and a server shows no help

    return max(LEAST_HELP_WIDTH, min(HELP_WIDTH, get_terminal_size((HELP_WIDTH + 2, 24)).columns - 2))


class Parser(argparse.ArgumentParser):
    def __init__(self, prog: str, description: str = "", *, usage: str | None = None, **_newer: bool) -> None:
        """Python 3.14 passes `color` and `suggest_on_error` to the parsers of subcommands; help has no colours here."""
        super().__init__(
            prog=prog, usage=usage, description=description, formatter_class=HelpFormatter, allow_abbrev=False
        )
        self.color = False
        self.add_argument("--version", action="version", version=f"codex-mcp {__version__}")

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """The arguments. Raises BadUsage."""
        arguments, unknown = self.parse_known_args(words)
        if unknown:
            self.error(self._unknown(unknown[0]))
        return arguments

    def error(self, message: str) -> NoReturn:
        """Raises BadUsage instead of ending the program: a client may wait for the reason."""
        raise BadUsage(self.format_usage(), f"{self.prog}: error: {message}")

    def _unknown(self, word: str) -> str:
        if not word.startswith("-"):
            return f"unexpected argument {word!r}; {self.prog} --help shows what is allowed"
        flag = word.partition("=")[0]
        hint = guess(flag, [name for name in self._option_string_actions if name.startswith("--")])
        if any(action.metavar == COMMAND_WORDS and action.nargs == "+" for action in self._actions):
            before = f"{hint} If it" if hint else "if it"
            return f"there is no flag {flag}; {before} belongs to the command, write -- before the command"
        return f"there is no flag {flag}; {hint or f'{self.prog} --help lists the flags'}"


def whole_number(text: str) -> int:
    """The type of an argument."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"cannot use {text!r}: it must be a whole number, such as 50")
    return int(text)


def guess(word: str, known: Iterable[str]) -> str:
    """A question that names the known word which was probably meant; empty if none is close."""
    meant = nearest(word, known)
    return f"did you mean {meant}?" if meant else ""
