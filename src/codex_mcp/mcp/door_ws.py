"""`/ws`: the bus on one socket, one message a frame, no message twice.

The header `mcp-session-id` joins a session of the bus; without it a new one is made. The id comes back with the
handshake.
"""

from __future__ import annotations

import contextlib
from typing import Final

from codex_mcp.base.tasks import TaskSet
from codex_mcp.mcp.door import Refusal
from codex_mcp.mcp.door_bus import SESSION_HEADER, Bus, sent_with
from codex_mcp.mcp.http_channel import InboxFull
from codex_mcp.mcp.hub import HubSession
from codex_mcp.mcp.live import LiveStream, dropped_marker
from codex_mcp.transports.http import Receive, Scope, Send, header_map
from codex_mcp.wire import jsonrpc
from codex_mcp.wire.jsonrpc import SERVER_BUSY, ErrorObject, Malformed, Request

SUBPROTOCOL: Final = "mcp"
CLOSED_BY_POLICY: Final = 1008
GOING_AWAY: Final = 1001

BUSY: Final = ErrorObject(SERVER_BUSY, "Server busy: this session has too much to do, come again later")


async def serve_socket(bus: Bus, scope: Scope, receive: Receive, send: Send, principal: str) -> None:
    """Serve one socket until either side closes it."""
    await receive()  # websocket.connect
    try:
        session = bus.session(header_map(scope["headers"]).get(SESSION_HEADER), principal)
    except Refusal as exc:
        await send({"type": "websocket.close", "code": CLOSED_BY_POLICY, "reason": str(exc)[:120]})
        return
    offered = SUBPROTOCOL if SUBPROTOCOL in scope.get("subprotocols", []) else None
    await send({"type": "websocket.accept", "subprotocol": offered, "headers": [sent_with(session)]})
    subscriber = session.channel.subscribe()
    tasks = TaskSet()
    try:
        tasks.spawn(_write(subscriber, send), name="socket's writer")
        await _read(session, subscriber, receive)
    finally:
        session.channel.unsubscribe(subscriber)
        await tasks.aclose()


async def _read(session: HubSession, subscriber: LiveStream, receive: Receive) -> None:
    while (event := await receive())["type"] == "websocket.receive":
        text = event.get("text")
        frame = text.encode() if text is not None else event.get("bytes") or b""
        message = jsonrpc.decode(frame)
        if isinstance(message, Malformed):
            # To this socket alone: nobody else on the bus has sent it.
            subscriber.put(jsonrpc.encode_error(message.id, ErrorObject(message.code, message.reason)), vital=True)
            continue
        try:
            session.channel.deliver(message)
        except InboxFull:
            if isinstance(message, Request):
                subscriber.put(jsonrpc.encode_error(message.id, BUSY), vital=True)


async def _write(subscriber: LiveStream, send: Send) -> None:
    with contextlib.suppress(OSError):  # the client is gone, which whoever reads hears too
        await _write_on(subscriber, send)


async def _write_on(subscriber: LiveStream, send: Send) -> None:
    number = 0
    while True:
        batch = await subscriber.take(number)
        if batch.dropped:
            await send({"type": "websocket.send", "text": dropped_marker(batch.dropped).decode()})
        for message in batch.messages:
            await send({"type": "websocket.send", "text": message.frame.decode()})
        number = batch.last
        if subscriber.ended and subscriber.stream.last <= number:
            await send({"type": "websocket.close", "code": GOING_AWAY, "reason": "the session has ended"})
            return
