"""The channel of one stateless request: it brings that request in, and takes its answer out.

An answer that comes at once is kept; otherwise it ends a stream, on which the client can be notified until then. The
client cannot be asked: a request to it is dropped, and the peer fails it after reading the only message that there is.
"""

from __future__ import annotations

from codex_mcp.rpc.channel import FrameKind, Receiver
from codex_mcp.transports.streams.live_stream import STREAM_BYTES, STREAM_MESSAGES, Delivery, LiveStream
from codex_mcp.wire.jsonrpc import Id, Request


class AnswerChannel:
    __slots__ = ("_delivery", "_request", "_stream", "answer")

    def __init__(self, request: Request, delivery: Delivery) -> None:
        self._request = request
        self._delivery = delivery
        self._stream: LiveStream | None = None
        self.answer = b""
        """The answer, if it came before anything else and before there was a stream."""

    @property
    def stream(self) -> LiveStream:
        """The stream that the answer ends. Most answers come at once and need none, so that it is made on first use."""
        if self._stream is None:
            self._stream = LiveStream("r", STREAM_MESSAGES, STREAM_BYTES, delivery=self._delivery)
            self._stream.add_reader()
        return self._stream

    async def read(self, receiver: Receiver) -> None:
        try:
            receiver.frame_received(self._request)
        finally:
            receiver.connection_lost()

    def send(self, frame: bytes, about: Id | None = None, kind: FrameKind = FrameKind.NOTIFICATION) -> None:
        if kind is FrameKind.REQUEST or self.answer:
            return
        if kind is FrameKind.ANSWER and self._stream is None:
            self.answer = frame
        elif not self.stream.ended:
            self.stream.put(frame, final=kind is FrameKind.ANSWER)

    async def drain(self, below: int) -> None:
        """Return at once: the stream is bounded."""

    async def aclose(self) -> None:
        if self._stream is not None and not self._stream.ended:
            self._stream.end()
