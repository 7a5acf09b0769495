"""Pure. A question of Codex, and where it is asked."""

from __future__ import annotations

from msgspec import Struct

from codex_mcp.wire import control


class Asked(Struct, frozen=True):
    question: control.Question
    node: str
    """The server whose Codex asks it."""
    server: str
    """How a person knows that server."""
