"""Pure. Server-sent events: how a message, an id and a sign of life look on the wire."""

from __future__ import annotations

from typing import Final

CONTENT_TYPE: Final = b"text/event-stream"

PING: Final = b": ping\n\n"
"""A comment: clients and proxies see that the stream lives, and nobody has to read it."""


def event(frame: bytes, event_id: str = "") -> bytes:
    """One message. A JSON text holds no raw line feed, so that it is one line of data."""
    if event_id:
        return b"id: %b\nevent: message\ndata: %b\n\n" % (event_id.encode(), frame)
    return b"event: message\ndata: %b\n\n" % frame


def priming(event_id: str, retry_ms: int) -> bytes:
    """The first event of a stream that can be resumed: an id to come back with, and how soon. It carries no message."""
    return b"id: %b\nretry: %d\ndata: \n\n" % (event_id.encode(), retry_ms)
