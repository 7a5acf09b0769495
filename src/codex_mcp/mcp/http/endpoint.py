"""What the endpoints share: read a message from a POST, answer with JSON or a stream of server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import Struct

from codex_mcp.base.tasks import TaskSet
from codex_mcp.mcp.http.streams.live_stream import LiveStream, dropped_marker
from codex_mcp.mcp.http.streams.message_ring import Batch
from codex_mcp.rpc import codec
from codex_mcp.rpc.nesting import why_unreadable
from codex_mcp.transports.http import JSON, BodyTooLarge, Header, HttpExchange, TooMuchHeld
from codex_mcp.wire.jsonrpc import INVALID_REQUEST, PARSE_ERROR, ErrorObject, Id, Malformed, Message, Request

BODY_TIME: Final = 30.0
"""Seconds for the body of a POST."""

RETRY_MS: Final = 1000
"""When a client whose stream broke should reconnect."""

PING: Final = b": ping\n\n"
"""A comment of server-sent events: clients and proxies see that the stream is alive, and ignore it."""

RETRY_LATER: Final[Header] = (b"retry-after", b"1")

HANG_UP: Final[Header] = (b"connection", b"close")
"""For answers to requests that were not read completely: the rest is not waited for."""


INCOMPLETE: Final = (
    "Service Unavailable: too many bodies are incomplete; finish one before the next, or try again later"
)


class Refusal(Exception):
    def __init__(self, status: int, error: ErrorObject, request_id: Id | None = None, *headers: Header) -> None:
        super().__init__(error.message)
        self.status = status
        self.body = codec.encode_error(request_id, error)
        self.headers = headers


def refusal(status: int, why: str, *headers: Header) -> Refusal:
    """A refusal of the HTTP request rather than of its message."""
    return Refusal(status, ErrorObject(INVALID_REQUEST, why), None, *headers)


def accepts(headers: Mapping[str, str], kind: str) -> bool:
    """Whether the client accepts this content type. Without an Accept header it accepts anything."""
    accepted = headers.get("accept", "*/*").lower()
    return kind in accepted or "*/*" in accepted or f"{kind.split('/', 1)[0]}/*" in accepted


async def read_message(http: HttpExchange, limit: int) -> Message:
    kind = http.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise refusal(415, f"Unsupported Media Type: send application/json, not {kind}")
    try:
        body = await (http.read_body(limit) if http.body_is_here else _awaited_body(http, limit))
    except BodyTooLarge:
        # The connection stays open, and the rest of the body is discarded: a client that sends all of it before it
        # reads the answer would otherwise see a reset connection.
        raise refusal(413, f"Content Too Large: the limit for a message is {limit} bytes") from None
    except TooMuchHeld:
        raise refusal(503, INCOMPLETE, RETRY_LATER, HANG_UP) from None
    except TimeoutError:
        raise refusal(408, "Request Timeout: the body did not arrive in time", HANG_UP) from None
    message = decoded(body)
    if isinstance(message, Malformed):
        raise Refusal(400, ErrorObject(message.code, message.reason), message.id)
    if isinstance(message, Request) and (traceparent := http.headers.get("traceparent")):
        return msgspec.structs.replace(message, traceparent=traceparent)
    return message


async def _awaited_body(http: HttpExchange, limit: int) -> bytes:
    """A separate function: nearly every body arrives with its head, and a timer costs more than reading it."""
    async with asyncio.timeout(BODY_TIME):
        return await http.read_body(limit)


def decoded(frame: bytes) -> Message:
    if why := why_unreadable(frame):
        return Malformed(None, PARSE_ERROR, f"Parse error: {why}")
    return codec.decode(frame)


async def answer_json(http: HttpExchange, stream: LiveStream, status: int = 200) -> None:
    """Wait for the answer, however long it takes, and send only that."""
    number = 0
    while not stream.ended:
        await stream.take(number)
        number = stream.ring.last
    frame = stream.ring.after(0).messages[-1].frame
    await http.respond(status, frame, JSON)


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
