"""Pure. The person at an attached TUI."""

from __future__ import annotations

from msgspec import Struct

from codex_mcp.mcp.control.attach.rules import Level


class Who(Struct, frozen=True):
    person: str
    program: str
    level: Level
