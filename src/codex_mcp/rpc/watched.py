"""A channel whose messages are in the log: at `debug` which ones come and go, at `trace` what they say.

At other levels the channel is left as it is, and costs nothing. The log masks secrets that it recognises in a message,
and cannot know one that comes in pieces.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from codex_mcp.base.logs import TRACE
from codex_mcp.rpc.channel import Channel, Kind
from codex_mcp.rpc.frame import Frame, Unreadable
from codex_mcp.wire import jsonrpc
from codex_mcp.wire.jsonrpc import Id, Message, Notification, Request

logger = logging.getLogger(__name__)

LONGEST: Final = 16 * 1024
"""Bytes of a message that are shown. Longer ones carry output or files, which have their own places."""

LONGEST_NAME: Final = 200
"""Characters of a method or an id, which the other end chooses."""


def watched(channel: Channel, far: str) -> Channel:
    """The channel to the one at the far end, watched if somebody reads it."""
    return WatchedChannel(channel, far) if logger.isEnabledFor(logging.DEBUG) else channel


class WatchedChannel:
    """Logs each frame on its way."""

    def __init__(self, channel: Channel, far: str) -> None:
        self._channel = channel
        self._far = far

    async def receive(self) -> Sequence[Frame]:
        """Return the next frames."""
        frames = await self._channel.receive()
        for frame in frames:
            _log(f"from {self._far}", frame)
        return frames

    def send(self, frame: bytes, about: Id | None = None, kind: Kind = Kind.NOTIFICATION) -> None:
        """Queue one frame."""
        _log(f"to {self._far}", frame)
        self._channel.send(frame, about, kind)

    async def drain(self, below: int) -> None:
        """Wait for whoever reads."""
        await self._channel.drain(below)

    async def aclose(self) -> None:
        """Close."""
        await self._channel.aclose()


def _log(way: str, frame: Frame) -> None:
    logger.debug("%s: %s", way, _named(frame))
    if isinstance(frame, bytes) and logger.isEnabledFor(TRACE):
        more = f"… ({len(frame)} bytes)" if len(frame) > LONGEST else ""
        logger.log(TRACE, "%s: %s%s", way, frame[:LONGEST].decode(errors="replace"), more)


def _named(frame: Frame) -> str:
    """What it is, in a few words, without what it says."""
    if isinstance(frame, Unreadable):
        return f"unreadable, {frame.reason}"
    message: Message = jsonrpc.decode(frame, version_required=False) if isinstance(frame, bytes) else frame
    match message:
        case Request(id=message_id, method=method):
            return f"request {message_id!r:.{LONGEST_NAME}} {method:.{LONGEST_NAME}}"
        case Notification(method=method):
            return f"notification {method:.{LONGEST_NAME}}"
        case _:
            return f"{type(message).__name__} {message.id!r:.{LONGEST_NAME}}"
