"""Pure. A configuration file that cannot be understood, and where."""

from __future__ import annotations

from codex_mcp.base.errors import Explained


class Unreadable(Explained):
    """The text cannot be edited; it says at which line and column, and why."""

    def __init__(self, text: str, at: int, why: str) -> None:
        line = text.count("\n", 0, at) + 1
        column = at - (text.rfind("\n", 0, at) + 1) + 1
        super().__init__(f"line {line}, column {column}: {why}")
