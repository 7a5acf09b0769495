"""Runs one stream on the event loop: its timers, and its life across broken connections."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final, Protocol

from codex_mcp.relay.errors import RelayError
from codex_mcp.relay.frames import Frame
from codex_mcp.relay.stream import RelayStream, reset_frame

SUSPENDED_SECONDS: Final = 30.0
"""How long a stream waits for a new connection: as long as a rendezvous waits for it."""


class StreamListener(Protocol):
    """The owner of a stream."""

    def write(self, frames: Sequence[bytes]) -> None:
        """Send these frames, or drop them if there is no connection."""

    def messages_received(self, messages: Sequence[bytes]) -> None: ...

    def stream_ended(self, reason: str) -> None:
        """Called once."""


class StreamDriver:
    def __init__(self, stream: RelayStream, listener: StreamListener) -> None:
        self._stream = stream
        self._listener = listener
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._patience: asyncio.TimerHandle | None = None
        self.is_over = False

    @property
    def queued_bytes(self) -> int:
        return self._stream.queued_bytes

    @property
    def opened(self) -> int:
        return self._stream.opened

    @property
    def can_resume(self) -> bool:
        return self._stream.can_resume

    def greet(self) -> None:
        """Tell the other side that we acknowledge; if it does too, it answers."""
        if not self.is_over:
            self._listener.write([self._stream.greeting()])

    def send(self, message: bytes) -> None:
        if self.is_over:
            return
        try:
            frames = self._stream.send(message, self._loop.time())
        except RelayError as exc:
            self._fail(exc)
            return
        self._listener.write(frames)
        self._set_timer()

    def frame_received(self, frame: Frame) -> None:
        if self.is_over:
            return
        try:
            arrived = self._stream.frame_received(frame, self._loop.time())
        except RelayError as exc:
            self._fail(exc)
            return
        if arrived.frames:
            self._listener.write(arrived.frames)
        if arrived.messages:
            self._listener.messages_received(arrived.messages)
        self._set_timer()

    def connection_lost(self) -> None:
        """Wait for another connection, if both sides can continue on it; end otherwise."""
        if not self._stream.can_resume:
            self.end("the connection to the rendezvous broke")
        elif self._patience is None and not self.is_over:
            self._patience = self._loop.call_later(SUSPENDED_SECONDS, self.end, "no new connection in 30 seconds")

    def connection_resumed(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
        if not self.is_over:
            self._listener.write(self._stream.resumed(self._loop.time()))
            self._set_timer()

    def reset(self, reason: str) -> None:
        """End the stream, and tell the other side."""
        if not self.is_over:
            self._stop()
            self._listener.write([reset_frame(self._stream.stream_id)])
            self._listener.stream_ended(reason)

    def end(self, reason: str) -> None:
        """May be called twice."""
        if not self.is_over:
            self._stop()
            self._listener.stream_ended(reason)

    def _stop(self) -> None:
        self.is_over = True
        for timer in (self._timer, self._patience):
            if timer is not None:
                timer.cancel()

    def _fail(self, exc: RelayError) -> None:
        """Also a reset is answered with one: the relay may have forged it, and then the other side must learn of it."""
        self.reset(str(exc))

    def _set_timer(self) -> None:
        """Wake up at the next due time. A timer that comes too early does no harm, so it is only ever moved forward."""
        due = self._stream.next_due
        if due is None or self.is_over:
            return
        if self._timer is not None:
            if self._timer.when() <= due:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(due, self._due)

    def _due(self) -> None:
        self._timer = None
        try:
            frames = self._stream.due(self._loop.time())
        except RelayError as exc:
            self._fail(exc)
            return
        if frames:
            self._listener.write(frames)
        self._set_timer()
