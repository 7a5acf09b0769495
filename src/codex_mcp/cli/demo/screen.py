"""The screen: the speaker in the left margin, the text beside it. The only module that uses rich.

On a terminal the agent's words appear as they arrive; elsewhere each block is printed once it is complete.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import IO, Final

from msgspec import Struct
from rich.console import Console, ConsoleOptions, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from codex_mcp.base.printable import visible
from codex_mcp.cli.mcp_client.messages import Change
from codex_mcp.cli.output import failures_explained

MARGIN: Final = 9
"""Columns for the speaker: the longest name and a gap."""

WIDEST: Final = 100
"""Longer lines are hard to read, however wide the terminal."""

MOST_LINES: Final = 16
"""Shown lines of a command's output: enough for a failing test, and the question stays on the screen."""


class Who(StrEnum):
    YOU = "you"
    SERVER = "server"
    AGENT = "agent"
    THINKS = "thinks"
    RUNS = "runs"
    CODEX = "codex"
    PROMPT = "prompt"


MARGIN_STYLES: Final[Mapping[Who, str]] = {
    Who.YOU: "bold green",
    Who.SERVER: "bold blue",
    Who.AGENT: "bold magenta",
    Who.THINKS: "dim",
    Who.RUNS: "bold cyan",
    Who.CODEX: "bold yellow",
    Who.PROMPT: "bold green",
}

DIFF_STYLES: Final[Mapping[str, str]] = {"+": "green", "-": "red", "@": "cyan"}
"""By the first character of the line."""


class Block(Struct, frozen=True):
    """A text with its speaker in the margin; no line ends in spaces."""

    who: Who
    body: Text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        lines = self.body.wrap(console, options.max_width - MARGIN, overflow="fold", tab_size=4)
        for number, line in enumerate(lines):
            margin = Text((self.who if number == 0 else "").ljust(MARGIN), MARGIN_STYLES[self.who])
            whole = Text.assemble(margin, line)
            whole.rstrip()
            yield whole


class Screen:
    def __init__(self, file: IO[str]) -> None:
        probe = Console(file=file)
        self._console = Console(file=file, highlight=False, width=min(probe.width, WIDEST))
        self._live: Live | None = None
        self._streaming = ""
        self._streamed = ""

    @property
    def is_terminal(self) -> bool:
        return self._console.is_terminal

    def heading(self, title: str, text: str) -> None:
        self._print(Text(title, "bold"), Text(text, "dim"), Text())

    def says(self, who: Who, text: str) -> None:
        self._print(Block(who, prose(text, who)), Text())

    def streams(self, who: Who, item_id: str, delta: str) -> None:
        """Show words as they arrive; the complete text replaces them later."""
        if not self.is_terminal:
            return
        if item_id != self._streaming:
            self.settle()
            self._streaming = item_id
        self._streamed += delta
        if self._live is None:
            self._live = Live(console=self._console, auto_refresh=False, transient=True)
            self._live.start()
        self._live.update(Block(who, prose(self._streamed, who)), refresh=True)

    def ran(self, command: str, output: str, exit_code: int, seconds: float) -> None:
        lines = visible(output).strip("\n").splitlines()
        body = Text.assemble((f"$ {visible(command)}\n", "bold"))
        if len(lines) > MOST_LINES:
            body.append(f"… {len(lines) - MOST_LINES} lines before\n", "dim")
        for line in lines[-MOST_LINES:]:
            body.append(line + "\n")
        body.append(f"exit code {exit_code}", "green" if exit_code == 0 else "red")
        body.append(f", {seconds:.2f} s", "dim")
        self._print(Block(Who.RUNS, body), Text())

    def asks(self, message: str, changes: Mapping[str, Change]) -> None:
        # The files of a patch are shown with their changes.
        asked = [line for line in message.splitlines() if not (changes and line.startswith("- "))]
        body = prose("asks: " + "\n".join(asked), Who.CODEX)
        for path, change in changes.items():
            body.append(f"\n\n{change.type} {visible(path)}\n", "bold")
            body.append_text(diff(change))
        self._print(Block(Who.CODEX, body), Text())

    def prompt(self, text: str) -> None:
        self.settle()
        margin = Text(Who.YOU.ljust(MARGIN), MARGIN_STYLES[Who.YOU])
        with failures_explained():
            self._console.print(Text.assemble(margin, (text, "bold"), " "), end="")

    def card(self, title: str, rows: Mapping[str, str], *, good: bool) -> None:
        colour = "green" if good else "red"
        table = Table.grid(padding=(0, 2))
        table.add_column(style="dim", no_wrap=True)
        table.add_column(overflow="fold")
        for name, value in rows.items():
            table.add_row(name, prose(value, Who.SERVER))
        self._print(
            Panel(table, title=Text(title, f"bold {colour}"), title_align="left", border_style=colour, padding=(0, 1))
        )

    def line(self, text: str = "") -> None:
        """Print a line without a speaker; it is not wrapped, so that it can be copied."""
        self.settle()
        with failures_explained():
            self._console.print(Text(text), soft_wrap=True)

    def settle(self) -> None:
        """Release the terminal: unfinished streamed text is erased."""
        if self._live is not None:
            self._live.stop()
            self._live = None
        self._streaming = self._streamed = ""

    def _print(self, *parts: RenderableType) -> None:
        self.settle()
        with failures_explained():
            for part in parts:
                self._console.print(part)


def prose(text: str, who: Who) -> Text:
    if who is Who.THINKS:
        return Text(visible(text).replace("**", "").replace("\n\n", "\n").strip(), "dim italic")
    shown = Text(visible(text).strip())
    shown.highlight_regex(r"`[^`]+`", "cyan")
    return shown


def diff(change: Change) -> Text:
    return Text("\n").join(Text(visible(line), DIFF_STYLES.get(line[:1], "")) for line in change.lines)
