"""docs/demo.svg: what a real run of `codex-mcp demo` shows at a terminal. `make picture` draws it anew.

The picture leaves out the first steps of the agent, and the folders of the programs.
"""

import html
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.support.servers.terminal import Terminal

FILE = Path(__file__).parents[2] / "docs/demo.svg"
COLUMNS = 96
LEFT_OUT = (re.compile("thinks +Looking"), re.compile("agent +`total` adds up everything"))
"""The first line that the picture leaves out, and the first that it has again."""


CONTROL = re.compile(r"\x1b\[([?\d;]*)([A-Za-z])|[\r\n]|[^\r\n\x1b]")
COLOURS = {"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "34": "#79c0ff", "35": "#d2a8ff", "36": "#76e3ea"}
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
NO_BREAK = "\u00a0\u00a0"
"""For two spaces, which a picture would show as one."""

CHAR, LINE, MARGIN = 8.4, 19, 16


class Cell(NamedTuple):
    """A character on the screen, and the numbers of its colour and weight."""

    char: str
    style: str


Row = list[Cell]


def rows_of(shown: str) -> list[Row]:
    """What stands on the screen after this was written: text, colours, the cursor up and to the left, cleared lines."""
    rows: list[Row] = [[]]
    line, column, style = 0, 0, ""
    for found in CONTROL.finditer(shown):
        match found.group(2), found.group(1) or found.group():
            case None, "\r":
                column = 0
            case None, "\n":
                line += 1
                rows += [[]] if line == len(rows) else []
            case "A", count:
                line -= int(count)
            case "K", _:
                rows[line] = []
            case "m", numbers:
                style = "" if numbers == "0" else numbers
            case "l" | "h", _:  # the cursor is hidden, and shown again
                pass
            case _, char:
                rows[line][column:] = [*([Cell(" ", "")] * (column - len(rows[line]))), Cell(char, style)]
                column += 1
    return rows


def text_of(row: Row) -> str:
    return "".join(cell.char for cell in row).rstrip()


def recorded() -> list[Row]:
    """Run the demo, allow the change, and return the lines that the picture has."""
    with tempfile.TemporaryDirectory() as home:
        programs = f"{home}/v/bin"  # lines wrap alike wherever the checkout is
        Path(home, "v").symlink_to(sys.prefix)
        environment = {"PATH": "/usr/bin:/bin", "HOME": home, "LANG": "C.UTF-8"}
        with Terminal([f"{programs}/python", "-m", "codex_mcp", "demo"], environment, COLUMNS) as terminal:
            terminal.wait_for("say why:")
            terminal.type("y\n")
            assert terminal.exit_code() == 0, terminal.shown
    rows = rows_of(terminal.shown.replace(f"{programs}/", ""))
    first, again = (_line(rows, pattern) for pattern in LEFT_OUT)
    chosen = [*rows[:first], [Cell("…", "2")], [], *rows[again:]]
    while not text_of(chosen[-1]):
        chosen.pop()
    return chosen


def _line(rows: list[Row], pattern: re.Pattern[str]) -> int:
    return next(number for number, row in enumerate(rows) if pattern.match(text_of(row)))


def _runs(row: Row) -> Iterator[tuple[int, str, str]]:
    """Neighbours of one style: column, style and text."""
    start = 0
    for end in range(1, len(row) + 1):
        if end == len(row) or row[end].style != row[start].style:
            text = "".join(cell.char for cell in row[start:end])
            if text.strip():
                yield start + len(text) - len(text.lstrip()), row[start].style, text.strip()
            start = end


def _tag(x: float, y: float, style: str, text: str) -> str:
    numbers = style.split(";")
    colour = next((COLOURS[number] for number in numbers if number in COLOURS), "#e6edf3")
    looks = [f'fill="{colour}"', f'textLength="{len(text) * CHAR:.1f}"']
    looks += ['font-weight="bold"'] if "1" in numbers else []
    looks += ['font-style="italic"'] if "3" in numbers else []
    looks += ['opacity="0.6"'] if "2" in numbers else []
    return (
        f'<text x="{x:.1f}" y="{y}" {" ".join(looks)}>{html.escape(text, quote=False).replace("  ", NO_BREAK)}</text>'
    )


def drawn(rows: list[Row]) -> str:
    """The picture."""
    width, height = round(COLUMNS * CHAR) + 2 * MARGIN, len(rows) * LINE + 2 * MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="{FONT}" font-size="14" role="img" aria-label="codex-mcp demo in a terminal">',
        f'<rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>',
    ]
    for number, row in enumerate(rows):
        y = MARGIN + number * LINE + 14
        lines += [_tag(MARGIN + column * CHAR, y, style, text) for column, style, text in _runs(row)]
    return "\n".join([*lines, "</svg>\n"])


def steady(text: str) -> str:
    """The words of the picture, without what differs between two runs: numbers and the id of the thread."""
    words = " ".join(re.findall(r">([^<\n]+)</text>", text))
    return re.sub(r"\d+(\.\d+)*", "0", re.sub(r"[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}", "ID", words))


if __name__ == "__main__":
    FILE.write_text(drawn(recorded()))
