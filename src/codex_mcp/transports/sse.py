"""Pure. Server-sent events: how a message, an id and a sign of life look on the wire."""

from __future__ import annotations

from typing import Final

CONTENT_TYPE: Final = b"text/event-stream"

PING: Final = b": ping\n\n"
"""A comment: clients and proxies see that the stream lives, and nobody has to read it."""


def event(frame: bytes, stream: bytes = b"", number: int = 0) -> bytes:
    """One message, with an id if it has a place in a stream. JSON holds no raw line feed: it is one line of data."""
    if stream:
        return b"id: %b:%d\nevent: message\ndata: %b\n\n" % (stream, number, frame)
    return b"event: message\ndata: %b\n\n" % frame


def priming(stream: bytes, number: int, retry_ms: int) -> bytes:
    """The first event of a stream that can be resumed: an id to come back with, and how soon. It carries no message."""
    return b"id: %b:%d\nretry: %d\ndata: \n\n" % (stream, number, retry_ms)
