"""Writes a stream to a client as server-sent events."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from codex_mcp.base.tasks import TaskSet
from codex_mcp.transports.http import HttpExchange
from codex_mcp.transports.streams.live_stream import LiveStream, dropped_marker
from codex_mcp.transports.streams.message_ring import Batch

RETRY_MS: Final = 1000
"""When a client whose stream broke should reconnect."""

PING: Final = b": ping\n\n"
"""A comment of server-sent events: clients and proxies see that the stream is alive, and ignore it."""


class StreamStyle(Struct, frozen=True):
    """How a stream is written."""

    ping: float
    """Seconds of silence after which a comment is sent."""
    is_resumable: bool = False
    """Its events have ids."""
    is_primed: bool = False
    """It begins with an event that has an id and no message."""


async def stream_out(http: HttpExchange, stream: LiveStream, number: int, style: StreamStyle) -> bool:
    """Write a stream from after this number until it ends or the client is gone. True: it was written to the end.

    Each message goes to one connection only: when another connection reads the same stream, this one ends.
    """
    is_replaced = stream.take_over()
    stream.add_reader()
    tasks = TaskSet()
    gone = http.disconnected(tasks)
    gone.add_done_callback(lambda _: stream.wake())
    name = stream.name.encode() if style.is_resumable else b""
    try:
        await http.start_stream(priming(name, number, RETRY_MS) if style.is_primed else b"")
        while not gone.done():
            batch = await stream.take(number, style.ping)
            if gone.done():
                return False
            if is_replaced():
                await http.end_stream()
                return False
            if stream.ended and batch.last >= stream.ring.last:
                await http.end_stream(_events(batch, name))
                return True
            await http.write(_events(batch, name) or PING)
            number = batch.last
        return False
    finally:
        stream.remove_reader()
        await tasks.aclose()


def sse_event(frame: bytes, stream: bytes = b"", number: int = 0) -> bytes:
    """One message as a server-sent event, with an id if it has a place in a stream. JSON is always a single line."""
    if stream:
        return b"id: %b:%d\nevent: message\ndata: %b\n\n" % (stream, number, frame)
    return b"event: message\ndata: %b\n\n" % frame


def priming(stream: bytes, number: int, retry_ms: int) -> bytes:
    """The first event of a resumable stream: an id to resume from, and how soon. It carries no message."""
    return b"id: %b:%d\nretry: %d\ndata: \n\n" % (stream, number, retry_ms)


def _events(batch: Batch, stream: bytes) -> bytes:
    events = [sse_event(message.frame, stream, message.number) for message in batch.messages]
    if batch.dropped:
        events.insert(0, sse_event(dropped_marker(batch.dropped)))
    return b"".join(events)
