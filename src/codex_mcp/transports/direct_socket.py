"""The WebSockets of our web servers.

A `LimitedSocket` has limits that uvicorn lacks: the bytes and the time of a message that is not complete, how long a
client may read nothing, and how many of its pings are answered meanwhile. A `DirectSocket` also has no task between the
wire and its owner: messages are delivered and written within the pass of the event loop in which they arrive. A
rendezvous needs half the time per message this way.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Any, Final, Protocol

from uvicorn._types import ASGIReceiveEvent, ASGISendEvent
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import CloseCode
from websockets.protocol import State

from codex_mcp.transports.budgets import Rank, Use
from codex_mcp.transports.connections import COUNTED_FROM, FRAGMENT_COST, TOO_LATE, InputClock
from codex_mcp.transports.http import CONNECTION, HttpExchange
from codex_mcp.transports.web_limits import Stall, StallWatched, WebLimits
from codex_mcp.transports.websocket import frame_header

logger = logging.getLogger(__name__)

TOO_MANY_BYTES: Final = "too many bytes of unfinished messages and of answers that were not read"
"""Why a WebSocket is closed, besides TOO_LATE."""

DIRECT: Final = "codex_mcp.direct"
"""In a WebSocket's scope: its DirectSocket."""

BINARY: Final = 0x2

NOTHING: Final = b"\x8a\x80\0\0\0\0"
"""A frame of a client that says nothing: an answer to no ping."""

FRAME_BEGINS: Final = "at_eof"
"""Where the library's parser waits between two frames."""

MAX_PONGS: Final = COUNTED_FROM
"""Bytes of unread answers to pings above which a client is not read until it has taken everything."""

WRITE_COST: Final = 256
"""Bytes that the event loop needs for each write that waits, besides its data."""


class LimitedSocket(StallWatched, WebSocketsSansIOProtocol):
    def __init__(self, *args: Any, limits: WebLimits, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._limits = limits
        self._fragments = 0
        self._fragment_bytes = 0
        self._is_counted = False
        self._clock: InputClock | None = None
        self._pongs = 0
        self._write_limits = (COUNTED_FROM, COUNTED_FROM // 4)
        self._is_held = False
        self._had_long_message = False
        self.when_lost: dict[HttpExchange, Callable[[], None]] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._stall = Stall(self.transport, self._limits.stall_timeout)
        self._limits.connections.taken_over(self.transport, self)
        self._clock = InputClock(self.transport, self._unfinished, partial(self._break_off, TOO_LATE))

    def connection_lost(self, exc: Exception | None) -> None:
        if self._clock is not None:
            self._clock.close()
            self._clock = None
        self._drop_input()
        super().connection_lost(exc)

    def use(self) -> Use:
        return Use(Rank.BUSY if self._unfinished() else Rank.QUIET)

    @property
    def unsent(self) -> int:
        return self.transport.get_write_buffer_size()

    def held_bytes(self) -> int:
        return self._unfinished() + self.unsent

    def data_received(self, data: bytes) -> None:
        self._take(data)
        self._answer_pings()
        self._count_input()

    def _take(self, data: bytes) -> None:
        super().data_received(data)
        if self._had_long_message:
            self._had_long_message = False
            self._forget_frame()

    def send_receive_event_to_app(self) -> None:
        self._had_long_message = self._had_long_message or sum(map(len, self.frames)) >= COUNTED_FROM
        super().send_receive_event_to_app()

    def _forget_frame(self) -> None:
        """The library's parser keeps the last frame until the next one: between two frames, give it an empty one."""
        waits_for: object = self.conn.parser
        while (inner := getattr(waits_for, "gi_yieldfrom", None)) is not None:
            waits_for = inner
        if self.conn.state is State.OPEN and getattr(waits_for, "__name__", "") == FRAME_BEGINS:
            self.conn.receive_data(NOTHING)
            self.conn.events_received()

    async def receive(self) -> ASGIReceiveEvent:
        was_paused = self.read_paused
        event = await super().receive()  # resumes reading
        if was_paused and self._clock is not None:
            self._clock.restart()
        self._choose_reading()
        return event

    async def send(self, message: ASGISendEvent) -> None:
        """Send a message, or close; the latter resumes reading."""
        await super().send(message)
        self._choose_reading()

    def resume_writing(self) -> None:
        if self._is_flooding:
            self._pongs = 0
            self.transport.set_write_buffer_limits(*self._write_limits)
            self._choose_reading()
        super().resume_writing()

    @property
    def _is_flooding(self) -> bool:
        return self._pongs > MAX_PONGS

    def handle_ping(self) -> None:
        """`_answer_pings` answers all pings of a read with one write: a write that waits needs more than its bytes."""

    def _answer_pings(self) -> None:
        pongs = b"".join(self.conn.data_to_send())
        if not pongs or self.transport.is_closing():
            return
        if not self.unsent:
            self._pongs = 0
        self.transport.write(pongs)
        if self.unsent:
            self._pongs += len(pongs) + WRITE_COST
        if self._is_flooding:
            self.transport.set_write_buffer_limits(high=0)  # `resume_writing` comes when everything is sent
            self._choose_reading()

    def _choose_reading(self) -> None:
        if self.transport.is_closing():
            return
        if self.read_paused or self._is_held or self._is_flooding:
            self.transport.pause_reading()
        else:
            self.transport.resume_reading()

    def _unfinished(self) -> int:
        """Bytes of a message that has not arrived completely."""
        if len(self.frames) < self._fragments:
            self._fragments = self._fragment_bytes = 0
        if self.frames:
            self._fragment_bytes += sum(len(frame) + FRAGMENT_COST for frame in self.frames[self._fragments :])
            self._fragments = len(self.frames)
        return len(self.conn.reader.buffer) + self._fragment_bytes

    def _count_input(self) -> None:
        assert self._clock is not None, "it is connected"
        if self._unfinished():
            self._clock.start()
        else:
            self._clock.stop()
        held = self.held_bytes()
        if held >= COUNTED_FROM or self._is_counted:
            self._is_counted = held >= COUNTED_FROM
            if not self.holds(held if self._is_counted else 0):
                self._break_off(TOO_MANY_BYTES)

    def _break_off(self, why: str) -> None:
        logger.info("closed a WebSocket of %s: %s", self._principal or "a client without a token", why)
        if self.conn.state is State.OPEN and not self.transport.is_closing():
            self.conn.send_close(CloseCode.POLICY_VIOLATION, why)
            self.transport.write(b"".join(self.conn.data_to_send()))
        self._drop_input()
        if self.unsent < COUNTED_FROM:
            self.transport.close()
        else:
            self.transport.abort()  # it does not read, so it would keep them

    def _drop_input(self) -> None:
        # At once: closed sockets are cycles of objects, which wait for the garbage collector.
        self.conn.reader.buffer.clear()
        self.frames = []

    async def run_asgi(self) -> None:
        """Serve it; the application finds the connection in its scope."""
        self.scope[CONNECTION] = self  # type: ignore[typeddict-unknown-key]
        await super().run_asgi()


class DirectListener(Protocol):
    """The owner of a socket."""

    def message_received(self, message: bytes) -> None:
        """A binary message. Text still comes from ASGI's `receive`, and so does the end."""

    def room_changed(self, *, has_room: bool) -> None:
        """The socket has taken most of what was sent, or has not."""


class DirectSocket(LimitedSocket):
    def __init__(self, *args: Any, limits: WebLimits, **kwargs: Any) -> None:
        super().__init__(*args, limits=limits, **kwargs)
        self._listener: DirectListener | None = None

    async def run_asgi(self) -> None:
        self.scope[DIRECT] = self  # type: ignore[typeddict-unknown-key]
        try:
            await super().run_asgi()
        finally:
            # Otherwise its memory would wait for the garbage collector, which seldom looks at old objects.
            self.scope.clear()  # type: ignore[attr-defined]  # it is a dictionary
            self._listener = None

    def deliver_to(self, listener: DirectListener, enough: int) -> None:
        """After the accept. `enough`: unsent bytes above which there is no room, until a quarter is left."""
        self._listener = listener
        self._write_limits = (enough, enough // 4)
        if not self._is_flooding:
            self.transport.set_write_buffer_limits(*self._write_limits)
        early = [self.queue.get_nowait() for _ in range(self.queue.qsize())]
        for event in early:
            message: bytes | None = event.get("bytes")  # type: ignore[assignment]
            if message is None:
                self.queue.put_nowait(event)
            else:
                listener.message_received(message)
        self.read_paused = False
        self._choose_reading()

    def has_room_for(self, size: int) -> bool:
        """Whether so much more may wait to be sent. False: the server holds too many bytes."""
        size += self.unsent
        if size < COUNTED_FROM and not self._is_counted:
            return True
        self._is_counted = size >= COUNTED_FROM
        return self.holds(self._unfinished() + size if self._is_counted else 0)

    def send_message(self, message: bytes) -> None:
        """Queue it, however much waits already."""
        if self.handshake_complete and self.conn.state is State.OPEN and not self.transport.is_closing():
            self._answer_pings()  # they came before
            self.transport.writelines([frame_header(len(message), BINARY), message])

    def hold(self) -> None:
        """Read nothing until `release`."""
        self._is_held = True
        self._choose_reading()

    def release(self) -> None:
        self._is_held = False
        self._choose_reading()

    def close_with(self, code: int, reason: str) -> None:
        """Send what is queued, then close. May be called twice."""
        if self.close_sent or self.transport.is_closing() or self.conn.state is not State.OPEN:
            return
        self.queue.put_nowait({"type": "websocket.disconnect", "code": code, "reason": reason})
        self.conn.send_close(code, reason)
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = True
        self.release()  # its answer is read
        self.close_timer = self.loop.call_later(self.close_timeout, self.transport.close)

    def send_receive_event_to_app(self) -> None:
        if self._listener is None or self.curr_msg_data_type == "text":
            super().send_receive_event_to_app()
            return
        message, self.frames = b"".join(self.frames), []
        self._had_long_message = self._had_long_message or len(message) >= COUNTED_FROM
        if not self.close_sent:
            self._listener.message_received(message)

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._listener is not None:
            self._listener.room_changed(has_room=False)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._listener is not None:
            self._listener.room_changed(has_room=True)
