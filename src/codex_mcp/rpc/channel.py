"""Pure. Channels carry whole frames: the seam between messages and bytes.

A line on stdio, a message on a WebSocket or the body of a POST: the code above this module does not know which.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol, TypeAlias

from msgspec import Struct

from codex_mcp.wire.jsonrpc import Id, Message


class UnreadableFrame(Struct, frozen=True):
    """A frame that was discarded, and why."""

    reason: str
    outline: bytes = b""
    """For a message that was too long: the same JSON object without its long parts (`transports.outline`)."""


Frame: TypeAlias = bytes | Message | UnreadableFrame
"""A channel that has had to decode the bytes already passes on the message."""


class FrameKind(StrEnum):
    """Tells a channel which frames it may drop (notifications) and which end a stream (answers)."""

    NOTIFICATION = "notification"
    REQUEST = "request"
    ANSWER = "answer"


class Channel(Protocol):
    async def receive(self) -> Sequence[Frame]:
        """Return the next frames, at least one; an empty sequence means the end."""

    def send(self, frame: bytes, about: Id | None = None, kind: FrameKind = FrameKind.NOTIFICATION) -> None:
        """Queue one frame; it is discarded if the other side is gone.

        `about` is the other side's request that the frame belongs to. It selects the stream where a client has several.
        """

    async def drain(self, below: int) -> None:
        """Wait until fewer than `below` bytes are queued, or the other side no longer reads."""

    async def aclose(self) -> None:
        """Send what is queued, then close. May be called twice."""
