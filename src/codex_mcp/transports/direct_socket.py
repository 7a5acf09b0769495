"""A WebSocket of our web server without a task between the wire and its owner: messages are delivered and written
within the pass of the event loop in which they arrive. A rendezvous needs half the time per message this way."""

from __future__ import annotations

from typing import Any, Final, Protocol

from uvicorn._types import ASGIReceiveEvent
from websockets.protocol import State

from codex_mcp.transports.masked_messages import MaskedMessages, Message
from codex_mcp.transports.web_limits import LimitedSocket, WebLimits
from codex_mcp.transports.websocket import frame_header

DIRECT: Final = "codex_mcp.direct"
"""In a WebSocket's scope: its DirectSocket."""

BINARY: Final = 0x2


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
        self._messages = MaskedMessages(self.config.ws_max_size)
        self._is_held = False
        self._is_early = False
        """The client sent something before its handshake was answered; the library goes on reading it."""

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
        self.transport.set_write_buffer_limits(high=enough, low=enough // 4)
        early = [self.queue.get_nowait() for _ in range(self.queue.qsize())]
        for event in early:
            message: bytes | None = event.get("bytes")  # type: ignore[assignment]
            if message is None:
                self.queue.put_nowait(event)
            else:
                listener.message_received(message)
        if not self._is_held and self.read_paused:
            self.read_paused = False
            self.release()

    @property
    def unsent(self) -> int:
        return self.transport.get_write_buffer_size()

    def send_message(self, message: bytes) -> None:
        """Queue it, however much waits already."""
        if self.handshake_complete and self.conn.state is State.OPEN and not self.transport.is_closing():
            self.transport.writelines([frame_header(len(message), BINARY), message])

    def hold(self) -> None:
        """Read nothing until `release`."""
        self._is_held = True
        if not self.transport.is_closing():
            self.transport.pause_reading()

    def release(self) -> None:
        self._is_held = False
        if not self.transport.is_closing():
            self.transport.resume_reading()

    async def receive(self) -> ASGIReceiveEvent:
        event = await super().receive()  # resumes reading
        if self._is_held:
            self.hold()
        return event

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

    def data_received(self, data: bytes) -> None:
        if self._listener is None or self._is_early:
            self._is_early = self.handshake_initiated
            super().data_received(data)
            return
        for each in self._messages.feed(data):
            if not isinstance(each, Message):
                super().data_received(each.raw)
            elif not self.close_sent:
                self._listener.message_received(each.data)

    def send_receive_event_to_app(self) -> None:
        """A message that the library has read: one in fragments, a text, or an early one."""
        if self._listener is None or self.curr_msg_data_type == "text":
            super().send_receive_event_to_app()
            return
        message, self.frames = b"".join(self.frames), []
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
