"""Where a checkout stood when a turn began."""

from __future__ import annotations

from msgspec import Struct

from codex_mcp.base.git import Position, packed_commit


class StartPoint(Struct, frozen=True):
    position: Position
    at: int
    """Nanoseconds since the epoch."""

    @property
    def commit(self) -> str | None:
        """The commit that was checked out. Reads a file that can be long."""
        return self.position.commit or packed_commit(self.position)
