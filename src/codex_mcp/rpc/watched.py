"""Logs the messages of a channel: at `debug` their kind, id and method, at `trace` their content.

At other levels the channel is not wrapped and nothing is slower. The log masks the secrets that it recognises in a
message; it cannot recognise one that is split over several messages. The content of a message that brings the user's
API key or token is never logged, not even to stderr; nor is an unreadable one that mentions an API key.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from typing import Final

from msgspec import Struct

from codex_mcp.base.logs import TRACE
from codex_mcp.rpc import codec
from codex_mcp.rpc.channel import Channel, Frame, FrameKind, Receiver, UnreadableFrame
from codex_mcp.wire.jsonrpc import Id, Malformed, Message, Notification, Request

logger = logging.getLogger(__name__)

LONGEST: Final = 16 * 1024
"""Bytes of a message that are logged. Longer messages carry output or files."""

LONGEST_NAME: Final = 200
"""Characters of a method or an id that are logged; the other end chooses them."""


SIGN_IN: Final = ("loginapikey", "account/login/start")
"""Requests with an API key, in small letters: a client may write them wrongly."""

KEY: Final = b"apikey"
"""In a message that cannot be read, in any case of letters: it may be a sign-in."""

TOKEN: Final = b'"authToken"'
"""In an answer with the token of the sign-in."""


def watched(channel: Channel, far: str) -> Channel:
    """The channel, wrapped if its messages are to be logged. `far` names the other end in the log."""
    return WatchedChannel(channel, far) if logger.isEnabledFor(logging.DEBUG) else channel


class WatchedChannel:
    def __init__(self, channel: Channel, far: str) -> None:
        self._channel = channel
        self._far = far

    async def read(self, receiver: Receiver) -> None:
        await self._channel.read(_Watched(receiver, self._far))

    def send(self, frame: bytes, about: Id | None = None, kind: FrameKind = FrameKind.NOTIFICATION) -> None:
        _log(f"to {self._far}", frame)
        self._channel.send(frame, about, kind)

    async def drain(self, below: int) -> None:
        await self._channel.drain(below)

    async def aclose(self) -> None:
        await self._channel.aclose()


class _Watched(Struct, frozen=True):
    receiver: Receiver
    far: str

    def frame_received(self, frame: Frame) -> Awaitable[object] | None:
        _log(f"from {self.far}", frame)
        return self.receiver.frame_received(frame)

    def connection_lost(self) -> None:
        self.receiver.connection_lost()


def _log(way: str, frame: Frame) -> None:
    name = _named(frame)
    logger.debug("%s: %s", way, name)
    if isinstance(frame, bytes) and logger.isEnabledFor(TRACE) and not _is_secret(name, frame):
        more = f"… ({len(frame)} bytes)" if len(frame) > LONGEST else ""
        logger.log(TRACE, "%s: %s%s", way, frame[:LONGEST].decode(errors="replace"), more)


def _is_secret(name: str, frame: bytes) -> bool:
    is_sign_in = name.lower().endswith(SIGN_IN)
    return is_sign_in or TOKEN in frame or (name.startswith(Malformed.__name__) and KEY in frame.lower())


def _named(frame: Frame) -> str:
    """The kind, id and method of a frame, without its content."""
    if isinstance(frame, UnreadableFrame):
        return f"unreadable, {frame.reason}"
    message: Message = codec.decode(frame, version_required=False) if isinstance(frame, bytes) else frame
    match message:
        case Request(id=message_id, method=method):
            return f"request {message_id!r:.{LONGEST_NAME}} {method:.{LONGEST_NAME}}"
        case Notification(method=method):
            return f"notification {method:.{LONGEST_NAME}}"
        case _:
            return f"{type(message).__name__} {message.id!r:.{LONGEST_NAME}}"
