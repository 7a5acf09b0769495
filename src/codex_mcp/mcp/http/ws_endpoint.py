"""`/ws`: the bus on a WebSocket, with one message per frame.

The header `mcp-session-id` joins a session of the bus; without it a new one is created. The handshake's answer contains
the id.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, TypeAlias

from codex_mcp.base.settings.http import HttpSettings
from codex_mcp.base.tasks import TaskSet
from codex_mcp.mcp.http.bus_endpoint import SESSION_HEADER, sent_with
from codex_mcp.mcp.http.channel import InboxFull
from codex_mcp.mcp.http.endpoint import Refusal, decoded
from codex_mcp.mcp.http.grants import CLOSED_BY_POLICY, NO_LONGER_VALID
from codex_mcp.mcp.http.hub import HubSession
from codex_mcp.rpc import codec
from codex_mcp.transports.http import HttpExchange
from codex_mcp.transports.streams.live_stream import LiveStream, dropped_marker
from codex_mcp.transports.websockets.channel import ROOM, SocketChannel
from codex_mcp.transports.websockets.socket import Socket, SocketRules
from codex_mcp.wire.jsonrpc import SERVER_BUSY, ErrorObject, Malformed, Message, Request

SUBPROTOCOL: Final = "mcp"
ENDED: Final = (1001, "the session has ended")
TOO_SLOW: Final = (CLOSED_BY_POLICY, "this listener was too slow")

BUSY: Final = ErrorObject(SERVER_BUSY, "Server busy: too many messages of this session are waiting; try again later")


Join: TypeAlias = Callable[[str | None], HubSession]
"""Finds or creates the session of this id. Raises Refusal."""

Pace: TypeAlias = Callable[[], float]
"""Called before each message: the seconds to wait before it is handled, or 0."""

PING_SECONDS: Final = 20.0
"""Between two pings, and for a sign of life after one."""

UNSENT_BYTES: Final = 64 * 1024
"""Above which the writer waits."""


def socket_rules(settings: HttpSettings) -> SocketRules:
    return SocketRules(
        room=ROOM,
        ping_interval=PING_SECONDS,
        pong_patience=PING_SECONDS,
        stall_timeout=settings.stall_timeout,
        counts_unsent=True,
        message_bytes=settings.max_body_bytes,
        may_compress=True,
    )


class BusSocket(SocketChannel):
    """Is read only while its last message is handled."""

    def __init__(self, socket: Socket) -> None:
        super().__init__(socket, high=0)

    def close(self, code: int = CLOSED_BY_POLICY, reason: str = NO_LONGER_VALID) -> None:
        """Send what is queued, then close."""
        self._socket.close(code, reason)


async def accept_socket(http: HttpExchange, rules: SocketRules, join: Join) -> tuple[HubSession, BusSocket] | None:
    """None: it was refused."""
    try:
        session = join(http.headers.get(SESSION_HEADER))
    except Refusal:
        await http.respond(403)
        return None
    offered = [word.strip() for word in http.headers.get("sec-websocket-protocol", "").split(",")]
    protocol = [(b"sec-websocket-protocol", SUBPROTOCOL.encode())] if SUBPROTOCOL in offered else []
    socket = http.accept(rules, BusSocket, sent_with(session), *protocol)
    return None if socket is None else (session, socket)


async def serve_socket(session: HubSession, socket: BusSocket, pace: Pace, still_holds: Callable[[], bool]) -> None:
    """`still_holds`: whether its client may still be here."""
    subscriber = session.channel.subscribe()
    tasks = TaskSet()
    try:
        tasks.spawn(_write(subscriber, socket), name="socket's writer")
        await _read(session, subscriber, socket, pace, still_holds)
    finally:
        session.channel.unsubscribe(subscriber)
        await tasks.aclose()


async def _read(
    session: HubSession, subscriber: LiveStream, socket: BusSocket, pace: Pace, still_holds: Callable[[], bool]
) -> None:
    while messages := await socket.receive():
        for message in messages:
            # No message needs to be refused here: not reading holds the sender back.
            while (seconds := pace()) > 0:  # noqa: ASYNC110  only time changes it
                await asyncio.sleep(seconds)
            if not still_holds():
                socket.close()
                return
            await _take(session, subscriber, message)
        del messages, message  # they may have megabytes, and are not kept until the next ones come


async def _take(session: HubSession, subscriber: LiveStream, text: bytes) -> None:
    message = decoded(text)
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


async def _write(subscriber: LiveStream, socket: BusSocket) -> None:
    number = 0
    while True:
        batch = await subscriber.take(number)
        if batch.dropped:
            socket.send(dropped_marker(batch.dropped))
        for message in batch.messages:
            await socket.drain(UNSENT_BYTES)
            socket.send(message.frame)
        number = batch.last
        if subscriber.ended and subscriber.ring.last <= number:
            socket.close(*(TOO_SLOW if subscriber.overrun else ENDED))
            return
