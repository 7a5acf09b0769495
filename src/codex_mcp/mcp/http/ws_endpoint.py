"""`/ws`: the bus on one socket, one message a frame, no message twice.

The header `mcp-session-id` joins a session of the bus; without it a new one is made. The id comes back with the
handshake.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Final, TypeAlias

from codex_mcp.base.tasks import TaskSet
from codex_mcp.mcp.http.bus_endpoint import SESSION_HEADER, sent_with
from codex_mcp.mcp.http.channel import InboxFull
from codex_mcp.mcp.http.endpoint import Refusal, decoded
from codex_mcp.mcp.http.hub import HubSession
from codex_mcp.mcp.http.streams.live_stream import LiveStream, dropped_marker
from codex_mcp.rpc import codec
from codex_mcp.transports.http import Receive, Scope, Send, header_map
from codex_mcp.wire.jsonrpc import SERVER_BUSY, ErrorObject, Malformed, Message, Request

SUBPROTOCOL: Final = "mcp"
CLOSED_BY_POLICY: Final = 1008
OVER: Final = (1001, "the session has ended")
TOO_SLOW: Final = (1008, "this listener was too slow")

BUSY: Final = ErrorObject(SERVER_BUSY, "Server busy: this session has too much to do, come again later")


Join: TypeAlias = Callable[[str | None], HubSession]
"""Find or make the session of this id. Raises Refusal."""

Pace: TypeAlias = Callable[[], float]
"""Asked before each message: 0, or the seconds to wait until it may be read."""


async def serve_socket(scope: Scope, receive: Receive, send: Send, join: Join, pace: Pace) -> None:
    """Serve one socket until either side closes it."""
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
        # Here nobody has to be refused: what is not read yet holds its sender back.
        while (seconds := pace()) > 0:  # noqa: ASYNC110  time alone brings what is waited for
            await asyncio.sleep(seconds)
        text = event.get("text")
        frame = text.encode() if text is not None else event.get("bytes") or b""
        message = decoded(frame)
        if isinstance(message, Malformed):
            # To this socket alone: nobody else on the bus has sent it.
            subscriber.put(codec.encode_error(message.id, ErrorObject(message.code, message.reason)), vital=True)
            continue
        if not await _delivered(session, message) and isinstance(message, Request):
            subscriber.put(codec.encode_error(message.id, BUSY), vital=True)


async def _delivered(session: HubSession, message: Message) -> bool:
    """Hand a message to its session. A burst fills the inbox before anybody had a chance to look into it: give one."""
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
    with contextlib.suppress(OSError):  # the client is gone, which the reader is told as well
        while True:
            batch = await subscriber.take(number)
            if batch.dropped:
                await send({"type": "websocket.send", "text": dropped_marker(batch.dropped).decode()})
            for message in batch.messages:
                await send({"type": "websocket.send", "text": message.frame.decode()})
            number = batch.last
            if subscriber.ended and subscriber.stream.last <= number:
                code, reason = TOO_SLOW if subscriber.overrun else OVER
                await send({"type": "websocket.close", "code": code, "reason": reason})
                return
