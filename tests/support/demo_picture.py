"""docs/demo.svg: what a real run of `codex-mcp demo` shows at a terminal. `make picture` draws it anew.

The picture leaves out the first steps of the agent, and the folders of the programs.
"""

import re
import sys
import tempfile
from pathlib import Path

from tests.support.drawing import drawn
from tests.support.screen import Cell, Row, Style, rows_of, text_of
from tests.support.servers.terminal import Terminal

FILE = Path(__file__).parents[2] / "docs/demo.svg"
COLUMNS = 96
SAYS = "codex-mcp demo in a terminal"
LEFT_OUT = (re.compile("thinks +Looking"), re.compile("agent +`total` adds up everything"))
"""The first line that the picture leaves out, and the first that it has again."""


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
    chosen = [*rows[:first], [Cell("…", Style(looks=frozenset({"dim"})))], [], *rows[again:]]
    while not text_of(chosen[-1]):
        chosen.pop()
    return chosen


def _line(rows: list[Row], pattern: re.Pattern[str]) -> int:
    return next(number for number, row in enumerate(rows) if pattern.match(text_of(row)))


if __name__ == "__main__":
    FILE.write_text(drawn(recorded(), COLUMNS, SAYS))
