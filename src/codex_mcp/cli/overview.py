"""Pure. The help of codex-mcp itself: its commands, in groups."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Final

from codex_mcp.cli.commands import GROUPS

USAGE: Final = "usage: codex-mcp COMMAND [FLAGS]"
ABOUT: Final = "Codex coding agents for MCP clients."
END: Final = (
    "codex-mcp help COMMAND shows the flags of a command, and codex-mcp --version the version. The first steps: "
    "codex-mcp login, codex-mcp install claude, codex-mcp doctor."
)

INDENT: Final = "  "
NAMES_WIDTH: Final = 2 + max(len(name) for group in GROUPS.values() for name in group)


def overview(width: int) -> str:
    return "\n".join(_lines(width))


def _lines(width: int) -> Iterator[str]:
    yield from (USAGE, "", ABOUT)
    for title, commands in GROUPS.items():
        yield from ("", f"{title}:")
        for name, summary in commands.items():
            head = f"{INDENT}{name:<{NAMES_WIDTH}}"
            yield from textwrap.wrap(summary, width, initial_indent=head, subsequent_indent=" " * len(head))
    yield ""
    yield from textwrap.wrap(END, width, break_on_hyphens=False)
