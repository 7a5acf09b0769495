"""The parser of every command line of ours: help that fits the terminal, no abbreviated flags, errors as exceptions."""

from __future__ import annotations

import argparse
from typing import Final, NoReturn

from codex_mcp.base.errors import Refused

HELP_WIDTH: Final = 100
LEAST_HELP_WIDTH: Final = 40


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
        from shutil import get_terminal_size  # noqa: PLC0415  slow to load, and a server shows no help

        columns = get_terminal_size((HELP_WIDTH + 2, 24)).columns
        self._width = max(LEAST_HELP_WIDTH, min(HELP_WIDTH, columns - 2))
        self._max_help_position = min(self._max_help_position, self._width - LEAST_HELP_WIDTH // 2)
        return super().format_help()


class Parser(argparse.ArgumentParser):
    def __init__(self, prog: str, description: str = "", epilog: str | None = None) -> None:
        super().__init__(
            prog=prog, description=description, epilog=epilog, formatter_class=HelpFormatter, allow_abbrev=False
        )

    def error(self, message: str) -> NoReturn:
        """Raises BadUsage instead of ending the program: a client may wait for the reason."""
        raise BadUsage(self.format_usage(), f"{self.prog}: error: {message}")
