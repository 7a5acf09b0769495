"""What the endpoints share: read a message from a POST, answer with JSON."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

import msgspec

from codex_mcp.rpc import codec
from codex_mcp.rpc.nesting import why_unreadable
from codex_mcp.transports.http import JSON, BodyTooLarge, Header, HttpExchange, TooMuchHeld
from codex_mcp.transports.streams.live_stream import LiveStream
from codex_mcp.wire.jsonrpc import INVALID_REQUEST, PARSE_ERROR, ErrorObject, Id, Malformed, Message, Request

BODY_TIME: Final = 30.0
"""Seconds for the body of a POST."""

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
        body = await (http.read_body(limit) if http.body_is_here else _wait_for_body(http, limit))
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


async def _wait_for_body(http: HttpExchange, limit: int) -> bytes:
    """A separate function: nearly every body arrives with its head, and a timer costs more than reading it."""
    async with asyncio.timeout(BODY_TIME):
        return await http.read_body(limit)


def decoded(frame: bytes) -> Message:
    if why := why_unreadable(frame):
        return Malformed(None, PARSE_ERROR, f"Parse error: {why}")
    return codec.decode(frame)


async def answer_json(http: HttpExchange, stream: LiveStream) -> None:
    """Wait for the answer, however long it takes, and send only that."""
    number = 0
    while not stream.ended:
        await stream.take(number)
        number = stream.ring.last
    frame = stream.ring.after(0).messages[-1].frame
    await http.respond(200, frame, JSON)
