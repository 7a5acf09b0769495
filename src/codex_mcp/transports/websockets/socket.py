"""One end of an open WebSocket. The library reads and writes the frames; what a socket holds has limits.

Sockets are driven by calls, not by tasks: a message is handled within the pass of the event loop in which it arrives,
and uvloop sends everything written in one pass with one system call. Limited are the bytes and the time of a message
that is not complete, answers that are not read, and answers to pings.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Final, Protocol, TypeAlias

from msgspec import Struct
from websockets.client import ClientProtocol
from websockets.frames import CloseCode, Frame, Opcode
from websockets.protocol import Side, State
from websockets.server import ServerProtocol

from codex_mcp.transports.budgets import Rank, Use
from codex_mcp.transports.connections import COUNTED_FROM, FRAGMENT_COST, TOO_LATE, Connections, InputClock, Stall
from codex_mcp.transports.websockets.frames import frame_header, is_utf8

logger = logging.getLogger(__name__)

QUIET: Final = logging.getLogger("websockets.quiet")
"""For the library, whose lines contain tokens and messages."""

QUIET.setLevel(logging.ERROR)

FRAGMENT_BYTES: Final = 4 * 1024 * 1024
"""Longer messages are sent in frames of this size: other ends refuse frames above 16 MiB."""

QUEUE_HIGH: Final = 1024 * 1024
"""Unsent bytes above which the producer is told to wait: some ten chunks, more than a local socket takes. Bytes that
were not received, above which a socket is not read."""

QUEUE_LOW: Final = 256 * 1024
"""Unsent bytes at which it may continue: the socket must not run empty meanwhile."""

PING_INTERVAL: Final = 30.0

PROBE_SECONDS: Final = 5.0
"""For a sign of life from a client whose session another connection wants. Clients try to reconnect for 25 seconds."""

CLOSE_SECONDS: Final = 10.0
"""For the answer to a close."""

MAX_PONGS: Final = 64 * 1024
"""Bytes of answers to pings that wait to be sent. Further pings are not answered until there are none: one who sends
many and reads nothing must not fill our memory."""

WRITE_COST: Final = 256
"""Bytes that the event loop needs for each write that waits, besides its data."""

TOO_MANY_BYTES: Final = "too many bytes of unfinished messages and of answers that were not read"
"""Why a WebSocket is closed, besides TOO_LATE."""

NO_TEXT: Final = "a text message is not UTF-8"
"""Another reason."""

MAX_MESSAGE_BYTES: Final = 64 * 1024 * 1024
"""The largest message, in any number of frames: a file of 48 MiB in base64."""


class SocketListener(Protocol):
    """Is told what happens on one socket."""

    def frame_received(self, frame: bytes) -> None:
        """A whole message."""

    def pause_writing(self) -> None:
        """The other end reads too slowly; produce nothing until `resume_writing`."""

    def resume_writing(self) -> None: ...

    def connection_lost(self) -> None: ...


class SocketRules(Struct, frozen=True):
    """How one kind of socket behaves."""

    is_binary: bool = False
    """What is sent; both kinds are received."""
    room: tuple[int, int] = (QUEUE_HIGH, QUEUE_LOW)
    """Unsent bytes above which the listener is told to wait, and at which it may continue."""
    ping_interval: float | None = PING_INTERVAL
    """Seconds; None sends no pings."""
    pong_patience: float | None = None
    """Seconds for a sign of life after a ping; None asks for none: a laptop may sleep for long."""
    stall_timeout: float | None = None
    """Seconds in which the other end must read something, while bytes wait for it."""
    at_rest: tuple[Rank, Rank] = (Rank.QUIET, Rank.QUIET)
    """What it counts as between two messages, before its first and afterwards."""
    counts_unsent: bool = False
    """Bytes that are not read count as held, like those of a message that is not complete."""
    message_bytes: int = MAX_MESSAGE_BYTES
    frame_bytes: int | None = None
    """The most that is received."""
    may_compress: bool = False
    """If the client offers it."""


Library: TypeAlias = ServerProtocol | ClientProtocol


class Socket(asyncio.Protocol):
    """One end of a connection whose handshake is done by the one who makes it."""

    def __init__(
        self, library: Library, rules: SocketRules, connections: Connections | None = None, principal: str = ""
    ) -> None:
        """With `connections`, it counts as one of them, on behalf of this principal."""
        self._library = library
        self._rules = rules
        self._connections = connections
        self._principal = principal
        self._opcode = Opcode.BINARY if rules.is_binary else Opcode.TEXT
        self._is_plain = library.side is Side.SERVER and not library.extensions
        """Frames need nothing but a header: no mask, no compression."""
        self._transport: asyncio.Transport
        self._listener: SocketListener | None = None
        self._clock: InputClock | None = None
        self._stall: Stall | None = None
        self._parts: list[bytes] = []
        self._part_bytes = 0
        """Of a message that is not complete, in memory."""
        self._is_text = False
        """The kind of the message that comes."""
        self._is_counted = False
        self._has_spoken = False
        self._is_ending = False
        """What comes is of no interest any more."""
        self._pongs = 0
        self._ping: asyncio.TimerHandle | None = None
        self._pinged_at: float | None = None
        """When the first ping was sent since anything was heard."""
        self._timer: asyncio.TimerHandle | None = None
        """Of a probe, or of a close."""
        self._probed_queue: int | None = None
        self._when_lost: Callable[[], None] | None = None
        self._loop = asyncio.get_running_loop()
        self.peer = ""

    def start(
        self,
        transport: asyncio.Transport,
        listener: SocketListener,
        came: bytes = b"",
        when_lost: Callable[[], None] | None = None,
    ) -> None:
        """The handshake is done. `came` after it."""
        self._transport, self._listener, self._when_lost = transport, listener, when_lost
        transport.set_protocol(self)
        transport.resume_reading()
        transport.set_write_buffer_limits(*self._rules.room)
        name = transport.get_extra_info("peername")
        self.peer = f"{name[0]}:{name[1]}" if isinstance(name, tuple) else "a client"
        if self._connections is not None:
            self._connections.taken_over(transport, self)
            self._clock = InputClock(transport, self._unfinished, partial(self._break_off, TOO_LATE))
        if self._rules.stall_timeout is not None:
            self._stall = Stall(transport, self._rules.stall_timeout)
        self._ping_later()
        if came or self._library.events:
            self.data_received(came)

    def use(self) -> Use:
        return Use(Rank.BUSY if self._unfinished() else self._rules.at_rest[self._has_spoken])

    @property
    def unsent(self) -> int:
        """Bytes that wait to be sent."""
        return self._transport.get_write_buffer_size()

    def held_bytes(self) -> int:
        return self._unfinished() + (self.unsent if self._rules.counts_unsent else 0)

    def _unfinished(self) -> int:
        """Bytes of a message that has not arrived completely."""
        return len(self._library.reader.buffer) + self._part_bytes

    def data_received(self, data: bytes) -> None:
        self._pinged_at = self._probed_queue = None
        library = self._library
        library.receive_data(data)
        self._answer(b"".join(library.data_to_send()))
        for frame in library.events_received():
            if isinstance(frame, Frame) and frame.opcode in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
                self._frame_received(frame)
        if library.state is not State.OPEN and (library.parser_exc is not None or library.close_rcvd is not None):
            self._end(library.parser_exc)
        elif not self._is_ending:
            self._count_input()

    def _answer(self, data: bytes) -> None:
        """Send what the library wants to: answers to pings, or a close."""
        if not data or self._transport.is_closing():
            return
        unsent = self.unsent
        self._pongs = self._pongs if unsent else 0
        if self._library.state is not State.OPEN or self._pongs + len(data) <= MAX_PONGS:
            self._transport.write(data)
            self._pongs += len(data) + WRITE_COST

    def _frame_received(self, frame: Frame) -> None:
        payload = bytes(frame.data)
        frame.data = b""  # the library keeps the last frame until the next one
        if frame.opcode is not Opcode.CONT:
            self._is_text = frame.opcode is Opcode.TEXT
        if frame.fin and not self._parts:
            self._deliver(payload)
            return
        self._parts.append(payload)
        self._part_bytes += len(payload) + FRAGMENT_COST
        if frame.fin:
            message, self._parts, self._part_bytes = b"".join(self._parts), [], 0
            self._deliver(message)

    def _deliver(self, message: bytes) -> None:
        self._has_spoken = True
        if self._is_text and not is_utf8(message):
            self._break_off(NO_TEXT, CloseCode.INVALID_DATA)
        if self._listener is not None and not self._is_ending:
            self._listener.frame_received(message)

    def _count_input(self) -> None:
        unfinished = self._unfinished()
        if self._clock is not None and unfinished:
            self._clock.start()
        elif self._clock is not None:
            self._clock.stop()
        elif self._part_bytes > self._rules.message_bytes:
            self._break_off(TOO_MANY_BYTES)
        if not self.has_room_for(0):
            self._break_off(TOO_MANY_BYTES)

    def has_room_for(self, size: int) -> bool:
        """Whether so much more may wait to be sent. False: the server holds too many bytes."""
        if self._connections is None or self._transport.is_closing():
            return True
        size += self.held_bytes()
        if size < COUNTED_FROM and not self._is_counted:
            return True
        self._is_counted = size >= COUNTED_FROM
        return self._connections.holds(self._transport, self._principal, size if self._is_counted else 0)

    def _break_off(self, why: str, code: int = CloseCode.POLICY_VIOLATION) -> None:
        logger.warning("connection %s: closed, %s", self.peer, why)
        self.close(code, why)
        self._drop_input()
        if self.unsent < COUNTED_FROM:
            self._transport.close()
        else:
            self._transport.abort()  # it does not read, so it would keep them

    def _drop_input(self) -> None:
        # At once: closed sockets are cycles of objects, which wait for the garbage collector.
        self._library.reader.buffer.clear()
        self._parts, self._part_bytes = [], 0

    def _end(self, error: Exception | None) -> None:
        """The other end has closed, or broken the protocol; it was told."""
        if error is not None:
            logger.info("connection %s: closed, %s", self.peer, error)
        self._is_ending = True
        self._drop_input()
        self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._ping, self._timer):
            if timer is not None:
                timer.cancel()
        if self._clock is not None:
            self._clock.close()
            self._clock = None
        if self._stall is not None:
            self._stall.end()
        if self._connections is not None:
            self._connections.closed(self._transport)
        self._drop_input()
        if self._when_lost is not None:
            self._when_lost()
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.connection_lost()

    def pause_writing(self) -> None:
        if self._stall is not None:
            self._stall.begin()
        if self._rules.counts_unsent and not self.has_room_for(0):
            self._break_off(TOO_MANY_BYTES)
        if self._listener is not None:
            self._listener.pause_writing()

    def resume_writing(self) -> None:
        if self._stall is not None:
            self._stall.end()
        self.has_room_for(0)
        if self._listener is not None:
            self._listener.resume_writing()

    @property
    def is_open(self) -> bool:
        return self._library.state is State.OPEN and not self._transport.is_closing()

    def send(self, *parts: bytes) -> None:
        """Queue one message, given in pieces, however much waits already."""
        if not self.is_open:
            return
        size = sum(map(len, parts))
        if self._is_plain and size <= FRAGMENT_BYTES:
            self._transport.writelines([frame_header(size, self._opcode), *parts])
        else:
            self._send_frames(memoryview(parts[0] if len(parts) == 1 else b"".join(parts)))

    def _send_frames(self, message: memoryview) -> None:
        library = self._library
        send: Callable[[memoryview, bool], None]
        send = library.send_binary if self._rules.is_binary else library.send_text
        for start in range(0, max(1, len(message)), FRAGMENT_BYTES):
            send(message[start : start + FRAGMENT_BYTES], start + FRAGMENT_BYTES >= len(message))
            send = library.send_continuation
            self._transport.writelines(library.data_to_send())

    def pause_reading(self) -> None:
        if not self._transport.is_closing():
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        if not self._transport.is_closing():
            if self._clock is not None:
                self._clock.restart()
            self._transport.resume_reading()

    def _ping_later(self) -> None:
        if self._rules.ping_interval is not None:
            self._ping = self._loop.call_later(self._rules.ping_interval, self._send_ping)

    def _send_ping(self) -> None:
        now, patience = self._loop.time(), self._rules.pong_patience
        if not self._transport.is_reading():
            self._pinged_at = None  # its answers could not be heard
        if patience is not None and self._pinged_at is not None and now - self._pinged_at >= patience:
            logger.info("connection %s: dropped, it answers no ping", self.peer)
            self._transport.abort()
            return
        self._pinged_at = now if self._pinged_at is None else self._pinged_at
        self._ping_later()
        self._ping_now()

    def _ping_now(self) -> None:
        if self.is_open:
            self._library.send_ping(b"")
            self._transport.writelines(self._library.data_to_send())

    @property
    def is_probed(self) -> bool:
        return self._probed_queue is not None

    def probe(self) -> None:
        """Drop it unless it shows that it is alive."""
        if not self.is_probed and self.is_open:
            self._ping_now()
            self._probed_queue = self.unsent
            self._timer = self._loop.call_later(PROBE_SECONDS, self._probed)

    def _probed(self) -> None:
        queued, self._probed_queue = self._probed_queue, None
        # A client that is not being read cannot answer; it is alive if it takes what is sent.
        if queued is not None and (self.unsent >= queued if queued else self._transport.is_reading()):
            logger.warning("connection %s: dropped, it showed no sign of life", self.peer)
            self._transport.abort()

    def close(self, code: int = CloseCode.NORMAL_CLOSURE, reason: str = "") -> None:
        """Send what is queued, then close. May be called twice."""
        if not self.is_open:
            return
        self._is_ending = True
        self._library.send_close(code, reason)
        self._transport.writelines(self._library.data_to_send())
        self._transport.resume_reading()  # its answer is read
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(CLOSE_SECONDS, self._transport.close)

    def shutdown(self) -> None:
        """The server ends (called by uvicorn)."""
        self.close(CloseCode.SERVICE_RESTART)
        self._transport.close()

    def drop(self) -> None:
        """Send what is queued, then close without a close frame."""
        self._transport.close()

    def abort(self) -> None:
        """Close it without sending what is queued."""
        self._transport.abort()
