"""What the doors have in common: reading a message from a POST, and writing streams until somebody goes."""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec

from codex_mcp.base.tasks import TaskSet
from codex_mcp.mcp.http.streams.live_stream import LiveStream, dropped_marker
from codex_mcp.mcp.http.streams.stream import Batch
from codex_mcp.rpc import codec
from codex_mcp.rpc.nesting import why_unreadable
from codex_mcp.transports.http import JSON, BodyTooLarge, Header, HttpExchange
from codex_mcp.wire.jsonrpc import INVALID_REQUEST, PARSE_ERROR, ErrorObject, Id, Malformed, Message, Request

BODY_TIME: Final = 30.0
"""Seconds in which the body of a POST must have come; who sends more slowly holds a connection for nothing."""

RETRY_MS: Final = 1000
"""When a client that was cut off may come back."""

PING: Final = b": ping\n\n"
"""A comment of server-sent events: clients and proxies see that the stream is alive, and ignore it."""

RETRY_LATER: Final[Header] = (b"retry-after", b"1")

HANG_UP: Final[Header] = (b"connection", b"close")
"""For answers to what was not read to its end: the rest of it is not waited for."""


class Refusal(Exception):
    """The request is answered with this status and error, and that is all."""

    def __init__(self, status: int, error: ErrorObject, request_id: Id | None = None, *headers: Header) -> None:
        super().__init__(error.message)
        self.status = status
        self.body = codec.encode_error(request_id, error)
        self.headers = headers


def refusal(status: int, why: str, *headers: Header) -> Refusal:
    """A refusal that is about HTTP rather than about a message."""
    return Refusal(status, ErrorObject(INVALID_REQUEST, why), None, *headers)


async def read_message(http: HttpExchange, limit: int) -> Message:
    """The one message of a POST. Raises Refusal."""
    kind = http.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise refusal(415, f"Unsupported Media Type: send application/json, not {kind}")
    try:
        body = await (http.read_body(limit) if http.body_is_here else _awaited_body(http, limit))
    except BodyTooLarge:
        # The connection stays open, and the rest of the body is read and thrown away: a client that sends all of it
        # before it reads the answer would see a reset connection instead.
        raise refusal(413, f"Content Too Large: a message has at most {limit} bytes") from None
    except TimeoutError:
        raise refusal(408, "Request Timeout: the body did not come in time", HANG_UP) from None
    message = decoded(body)
    if isinstance(message, Malformed):
        raise Refusal(400, ErrorObject(message.code, message.reason), message.id)
    if isinstance(message, Request) and (traceparent := http.headers.get("traceparent")):
        return msgspec.structs.replace(message, traceparent=traceparent)
    return message


async def _awaited_body(http: HttpExchange, limit: int) -> bytes:
    """Apart, because nearly every body comes with its head, and a timer costs more than to read it."""
    async with asyncio.timeout(BODY_TIME):
        return await http.read_body(limit)


def decoded(frame: bytes) -> Message:
    """The message in a body or a frame."""
    if why := why_unreadable(frame):
        return Malformed(None, PARSE_ERROR, f"Parse error: {why}")
    return codec.decode(frame)


async def answer_json(http: HttpExchange, stream: LiveStream, status: int = 200) -> None:
    """Wait for the answer, however long it takes, and send it alone."""
    number = 0
    while not stream.ended:
        await stream.take(number)
        number = stream.stream.last
    frame = stream.stream.after(0).messages[-1].frame
    await http.respond(status, frame, JSON)


async def stream_out(http: HttpExchange, stream: LiveStream, number: int, *, ping: float, resumable: bool) -> bool:
    """Write a stream from after this number until it ends or the client goes. True: it was written to the end.

    A stream without messages shows every `ping` seconds that it is alive. A message is on one connection only: if
    another one comes to read the same stream, this one ends.
    """
    is_replaced = stream.new_reader()
    stream.readers += 1
    tasks = TaskSet()
    gone = http.gone or tasks.spawn(http.wait_disconnected(), name="client's disconnect")
    gone.add_done_callback(lambda _: stream.poke())
    name = stream.name.encode() if resumable else b""
    try:
        await http.start_stream(priming(name, number, RETRY_MS) if resumable else b"")
        while not gone.done():
            batch = await stream.take(number, ping)
            if gone.done():
                return False
            if is_replaced():
                await http.end_stream()
                return False
            if stream.ended and batch.last >= stream.stream.last:
                await http.end_stream(_events(batch, name))
                return True
            await http.write(_events(batch, name) or PING)
            number = batch.last
        return False
    finally:
        stream.readers -= 1
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
