"""Loads the control socket when the server joins the store: never while a client waits for its first answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from codex_mcp.mcp.control.door import Door
    from codex_mcp.mcp.control.inside import Inside
    from codex_mcp.team.agent import Owner


class LateDoor:
    def __init__(self, inside: Callable[[], Inside]) -> None:
        self._inside = inside
        self._door: Door | None = None
        self._closed = False

    def joined(self, owner: Owner) -> None:
        """This server is this node of its team from now on."""
        if self._closed:
            return
        if self._door is None:
            from codex_mcp.mcp.control.door import Door  # noqa: PLC0415  see above

            self._door = Door(self._inside())
        self._door.open(owner)

    async def aclose(self) -> None:
        self._closed = True
        if self._door is not None:
            await self._door.aclose()
