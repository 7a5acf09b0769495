"""Where whole frames come and go: the one seam between messages and bytes.

A line on stdio, a frame of a socket, an entry of a list in a test: nothing above this knows which.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

from codex_mcp.rpc.frame import Frame
from codex_mcp.wire.jsonrpc import Id


class Kind(StrEnum):
    """What a frame is to those who carry it."""

    NOTIFICATION = "notification"
    REQUEST = "request"
    ANSWER = "answer"


class Channel(Protocol):
    """Receive, send, close. Nothing richer."""

    async def receive(self) -> Sequence[Frame]:
        """Return the next frames, at least one; an empty sequence means the end."""

    def send(self, frame: bytes, about: Id | None = None, kind: Kind = Kind.NOTIFICATION) -> None:
        """Queue one frame. After the end of the other side it goes nowhere.

        `about` is the request of the other side that it belongs to: where one client has several streams, that tells
        which one. `kind` tells what may be dropped, and what ends a stream.
        """

    async def drain(self, below: int) -> None:
        """Wait until fewer bytes than that are queued, or nobody reads any longer."""

    async def aclose(self) -> None:
        """Send what is queued, then close. Twice is fine."""


class MemoryChannel:
    """One end of a pair in memory; for tests and for embedding."""

    def __init__(self) -> None:
        self._inbox: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._other: MemoryChannel | None = None
        self._ended = False

    async def receive(self) -> Sequence[Frame]:
        """Return one frame, or nothing at the end."""
        if self._ended:
            return []
        frame = await self._inbox.get()
        self._ended = frame is None
        return [] if frame is None else [frame]

    def send(self, frame: bytes, about: Id | None = None, kind: Kind = Kind.NOTIFICATION) -> None:
        """Put the frame into the other end's inbox."""
        if self._other is not None:
            self._other._inbox.put_nowait(frame)

    async def drain(self, below: int) -> None:
        """There is always room."""

    async def aclose(self) -> None:
        """Tell both ends."""
        other, self._other = self._other, None
        if other is not None:
            other._inbox.put_nowait(None)
        self._inbox.put_nowait(None)


def memory_pair() -> tuple[MemoryChannel, MemoryChannel]:
    """Two channels, each the other's far end."""
    left, right = MemoryChannel(), MemoryChannel()
    left._other, right._other = right, left
    return left, right
