"""One end of a unix socket that carries one message per line.

The other end can be a program in a loop, or one that was stopped. What it sends is taken in small parts, and what it
does not read is limited: notifications are left out, which it is told once it reads again; for answers, its requests
wait; beyond that, the connection is closed.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Sequence
from typing import Final, cast

from msgspec import Struct

from codex_mcp.rpc import codec
from codex_mcp.rpc.channel import Frame, FrameKind, Receiving, UnreadableFrame
from codex_mcp.transports.framing import FrameReader
from codex_mcp.transports.outgoing import OutgoingBytes
from codex_mcp.wire.jsonrpc import Id, Malformed

FRAMES_AT_ONCE: Final = 8
"""Messages that are handled before others have their turn."""

MIB: Final = 1024 * 1024

FLUSH_GRACE: Final = 0.5
"""Seconds to read the last answers."""


class Bounds(Struct, frozen=True):
    message_bytes: int = MIB
    """The longest message that is read."""
    skipped_messages: int = 8
    """A line that is this many times too long closes the connection."""
    unreadable: int = 8
    """As many unreadable lines close it."""
    unread_bytes: int = 256 * 1024
    """Beyond this, notifications are left out, and further requests are not read."""
    held_bytes: int = 64 * MIB
    """Beyond this, the connection is closed: the answers to its open requests are that long, and nobody reads them."""
    left_out: bytes = b""
    """Tells the other end that notifications were left out."""
    behind_bytes: int = 0
    """If it is set, and so much waits, the next notification closes the connection: the other end needs all of them."""
    version_required: bool = True


class LocalChannel(OutgoingBytes, asyncio.Protocol, Receiving):
    def __init__(self, bounds: Bounds) -> None:
        super().__init__()
        self._bounds = bounds
        self._lines = FrameReader(bounds.message_bytes)
        self._frames: deque[Frame] = deque()
        self._came = asyncio.Event()
        self._skipped = 0
        self._unreadable = 0
        self._is_behind = False
        self._has_ended = False

    def __repr__(self) -> str:
        return f"<LocalChannel {len(self._frames)} to handle, {self.queued} bytes unread>"

    def widen(self, bounds: Bounds) -> None:
        """From now on these apply: the other end is one that may do more."""
        self._bounds = bounds
        self._lines.accept_up_to(bounds.message_bytes)

    def data_received(self, data: bytes) -> None:
        frames = self._lines.feed(data)
        self._skipped = 0 if frames else self._skipped + len(data)
        if self._skipped > self._bounds.skipped_messages * self._bounds.message_bytes:
            self.abort()
        elif frames:
            self._frames.extend(frames)
            self._input().pause_reading()
            self._came.set()

    def eof_received(self) -> None:
        """The transport is closed after this: whoever sends nothing any more reads nothing either."""
        self._has_ended = True
        self._came.set()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._has_ended = True
        self._came.set()

    async def receive(self) -> Sequence[Frame]:
        while not self._frames:
            if self._has_ended or self._unreadable >= self._bounds.unreadable:
                return []
            await self._came.wait()
        await self.drain(self._bounds.unread_bytes)
        frames: list[Frame] = []
        while self._frames and len(frames) < FRAMES_AT_ONCE:
            frames.append(self._decoded(self._frames.popleft()))
        if not self._frames and not self._has_ended:
            self._came.clear()
            self._input().resume_reading()
        await asyncio.sleep(0)
        return frames

    def _decoded(self, frame: Frame) -> Frame:
        if isinstance(frame, bytes):
            frame = codec.decode(frame, version_required=self._bounds.version_required)
        if isinstance(frame, UnreadableFrame | Malformed):
            self._unreadable += 1
            if self._unreadable >= self._bounds.unreadable:
                self._frames.clear()
                self._came.set()
        return frame

    def send(self, frame: bytes, about: Id | None = None, kind: FrameKind = FrameKind.NOTIFICATION) -> None:
        if kind is FrameKind.NOTIFICATION and self._bounds.left_out:
            self._is_behind = self._is_behind or self.queued >= self._bounds.unread_bytes
            if self._is_behind:
                return
        behind = self._bounds.behind_bytes
        if behind and kind is FrameKind.NOTIFICATION and self.queued > behind:
            self.abort()
            return
        self.write(frame + b"\n")
        if self.queued > self._bounds.held_bytes:
            self.abort()

    def flush(self) -> None:
        super().flush()
        self._catch_up()

    def resume_writing(self) -> None:
        self._catch_up()
        super().resume_writing()

    def _catch_up(self) -> None:
        if self._is_behind and not self.queued:
            self._is_behind = False
            self.write(self._bounds.left_out + b"\n")

    async def aclose(self) -> None:
        """Write what is queued, if the other end reads it soon, then close."""
        self.flush()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FLUSH_GRACE):
                await self.drain(below=1)
        self.abort()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _input(self) -> asyncio.Transport:
        return cast("asyncio.Transport", self._transport)
