"""`/ws`: the bus on a WebSocket, with one message per frame.

The header `mcp-session-id` joins a session of the bus; without it a new one is created. The handshake's answer contains
the id.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from codex_mcp.base.tasks import TaskSet
from codex_mcp.mcp.http.bus_endpoint import SESSION_HEADER, sent_with
from codex_mcp.mcp.http.channel import InboxFull
from codex_mcp.mcp.http.endpoint import Refusal, decoded
from codex_mcp.mcp.http.grants import CLOSED_BY_POLICY
from codex_mcp.mcp.http.hub import HubSession
from codex_mcp.mcp.http.streams.live_stream import LiveStream, dropped_marker
from codex_mcp.rpc import codec
from codex_mcp.transports.http import Receive, Scope, Send, header_map
from codex_mcp.wire.jsonrpc import SERVER_BUSY, ErrorObject, Malformed, Message, Request

SUBPROTOCOL: Final = "mcp"
ENDED: Final = (1001, "the session has ended")
TOO_SLOW: Final = (CLOSED_BY_POLICY, "this listener was too slow")

BUSY: Final = ErrorObject(SERVER_BUSY, "Server busy: too many messages of this session are waiting; try again later")


Join: TypeAlias = Callable[[str | None], HubSession]
"""Finds or creates the session of this id. Raises Refusal."""

Pace: TypeAlias = Callable[[], float]
"""Called before each message: the seconds to wait before it is handled, or 0."""


async def serve_socket(scope: Scope, receive: Receive, send: Send, join: Join, pace: Pace) -> None:
    await receive()  # websocket.connect
    try:
        session = join(header_map(scope["headers"]).get(SESSION_HEADER))
    except Refusal as exc:
        await send({"type": "websocket.close", "code": CLOSED_BY_POLICY, "reason": str(exc)[:120]})
        return
    offered = SUBPROTOCOL if SUBPROTOCOL in scope.get("subprotocols", []) else None
    await send({"type": "websocket.accept", "subprotocol": offered, "headers": [sent_with(session)]})
    subscriber = session.channel.subscribe()
    tasks = TaskSet()
    try:
        tasks.spawn(_write(subscriber, send), name="socket's writer")
        await _read(session, subscriber, receive, pace)
    finally:
        session.channel.unsubscribe(subscriber)
        await tasks.aclose()


async def _read(session: HubSession, subscriber: LiveStream, receive: Receive, pace: Pace) -> None:
    while (event := await receive())["type"] == "websocket.receive":
        # No message needs to be refused here: not reading holds the sender back.
        while (seconds := pace()) > 0:  # noqa: ASYNC110  only time changes it
            await asyncio.sleep(seconds)
        await _take(session, subscriber, event)
        del event  # it may have megabytes, and is not kept until the next one comes


async def _take(session: HubSession, subscriber: LiveStream, event: Mapping[str, Any]) -> None:
    text = event.get("text")
    message = decoded(text.encode() if text is not None else event.get("bytes") or b"")
    if isinstance(message, Malformed):
        # Only to this socket: no other listener sent it.
        subscriber.put(codec.encode_error(message.id, ErrorObject(message.code, message.reason)), vital=True)
    elif not await _deliver(session, message) and isinstance(message, Request):
        subscriber.put(codec.encode_error(message.id, BUSY), vital=True)


async def _deliver(session: HubSession, message: Message) -> bool:
    """Pass a message to its session. If a burst fills the inbox, let the session read once, and try again."""
    for _ in range(2):
        try:
            session.channel.deliver(message)
        except InboxFull:
            await asyncio.sleep(0)
        else:
            return True
    return False


async def _write(subscriber: LiveStream, send: Send) -> None:
    number = 0
    with contextlib.suppress(OSError):  # the client is gone, which the reader also notices
        while True:
            batch = await subscriber.take(number)
            if batch.dropped:
                await send({"type": "websocket.send", "text": dropped_marker(batch.dropped).decode()})
            for message in batch.messages:
                await send({"type": "websocket.send", "text": message.frame.decode()})
            number = batch.last
            if subscriber.ended and subscriber.ring.last <= number:
                code, reason = TOO_SLOW if subscriber.overrun else ENDED
                await send({"type": "websocket.close", "code": code, "reason": reason})
                return
