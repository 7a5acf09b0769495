"""What the pages are about, and who may come in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from codex_mcp.access.gate import Gate

if TYPE_CHECKING:
    from codex_mcp.access.access_control import AccessControl


class Place(Struct, frozen=True):
    state_dir: str
    codex_home: str
    """Where Codex keeps the conversations of agents that no server runs."""
    gate: Gate
    access: AccessControl | None = None
    """Checks tokens; None if there are none."""
    view: bool = False
    """Nobody can decide anything here."""
