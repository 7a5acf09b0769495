"""Pure. Channels carry whole frames: the seam between messages and bytes.

A line on stdio, a message on a WebSocket or the body of a POST: the code above this module does not know which.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
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


class Receiver(Protocol):
    def frame_received(self, frame: Frame) -> Awaitable[object] | None:
        """Take this frame. What is returned is awaited before the next one."""

    def connection_lost(self) -> None:
        """Nothing more will come."""


class Channel(Protocol):
    async def read(self, receiver: Receiver) -> None:
        """Hand over each frame as it comes, until the end or until this is cancelled, and tell the receiver of it."""

    def send(self, frame: bytes, about: Id | None = None, kind: FrameKind = FrameKind.NOTIFICATION) -> None:
        """Queue one frame; it is discarded if the other side is gone.

        `about` is the other side's request that the frame belongs to. It selects the stream where a client has several.
        """

    async def drain(self, below: int) -> None:
        """Wait until fewer than `below` bytes are queued, or the other side no longer reads."""

    async def aclose(self) -> None:
        """Send what is queued, then close. May be called twice."""


class Receiving(Protocol):
    """A channel whose frames wait in it until they are received."""

    async def receive(self) -> Sequence[Frame]:
        """Return the next frames, at least one; an empty sequence means the end."""

    async def read(self, receiver: Receiver) -> None:
        """See `Channel.read`."""
        try:
            while frames := await self.receive():
                for frame in frames:
                    if (pause := receiver.frame_received(frame)) is not None:
                        await pause
                del frames, frame  # they are not kept until the next ones come
        finally:
            receiver.connection_lost()
