"""Loads the control socket when the server joins the store: never while a client waits for its first answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from codex_mcp.mcp.control.door import Door
    from codex_mcp.mcp.control.inside import Inside
    from codex_mcp.team.agent import Owner
    from codex_mcp.transports.websockets.channel import SocketChannel


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

    @property
    def node(self) -> str:
        """Which node of the store this server is; empty if it is none now."""
        return "" if self._door is None else self._door.node

    async def serve_far(self, channel: SocketChannel, of: str) -> None:
        """Serve a server of another machine, which has proved that it is this node."""
        assert self._door is not None, "it has a node"
        await self._door.serve_far(channel, of)

    async def aclose(self) -> None:
        self._closed = True
        if self._door is not None:
            await self._door.aclose()
