"""A pair of channels in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from codex_mcp.rpc.channel import Frame, FrameKind, Receiving
from codex_mcp.wire.jsonrpc import Id


class MemoryChannel(Receiving):
    """One end of the pair."""

    def __init__(self) -> None:
        self._inbox: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._other: MemoryChannel | None = None
        self._ended = False

    async def receive(self) -> Sequence[Frame]:
        if self._ended:
            return []
        frame = await self._inbox.get()
        self._ended = frame is None
        return [] if frame is None else [frame]

    def send(self, frame: bytes, about: Id | None = None, kind: FrameKind = FrameKind.NOTIFICATION) -> None:
        if self._other is not None:
            self._other._inbox.put_nowait(frame)

    async def drain(self, below: int) -> None:
        """There is always room."""

    async def aclose(self) -> None:
        other, self._other = self._other, None
        if other is not None:
            other._inbox.put_nowait(None)
        self._inbox.put_nowait(None)


def memory_pair() -> tuple[MemoryChannel, MemoryChannel]:
    """Two channels, each the other's far end."""
    left, right = MemoryChannel(), MemoryChannel()
    left._other, right._other = right, left
    return left, right
