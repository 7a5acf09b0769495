"""`/control`: servers of other machines connect, to have calls for our agents answered here."""

from __future__ import annotations

import logging
import os
import time
from typing import Final, Protocol

from codex_mcp.access.cluster import HOP, Challenges
from codex_mcp.access.seal import KEY_BYTES
from codex_mcp.transports.http import TEXT, HttpExchange
from codex_mcp.transports.websockets.channel import ROOM, SocketChannel
from codex_mcp.transports.websockets.socket import PING_INTERVAL, SocketRules

logger = logging.getLogger(__name__)

SERIAL_BYTES: Final = 16

RULES: Final = SocketRules(room=ROOM, ping_interval=PING_INTERVAL, pong_patience=PING_INTERVAL)
"""A prompt may bring pictures, so messages may be long. Nothing that a turn tells its client is left out."""


class FarDoor(Protocol):
    """Where such a connection is served."""

    @property
    def node(self) -> str:
        """Which node of the store this server is; empty if it is none now."""

    async def serve_far(self, channel: SocketChannel, of: str) -> None:
        """Serve the server that is this node, until it is gone."""


class Hops:
    def __init__(self, key: bytes, door: FarDoor) -> None:
        """`key`: of the cluster."""
        self._challenges = Challenges(key, os.urandom(KEY_BYTES))
        self._door = door

    async def serve(self, http: HttpExchange) -> None:
        """Answer a request for a WebSocket: with a challenge, until one comes with the proof for it."""
        now, node, shown = time.monotonic(), self._door.node, http.headers.get(HOP, "")
        of = self._challenges.admit(shown, node, now) if shown and node else None
        if of is None:
            if shown:
                logger.warning("refused a connection from %s: it did not prove that it is of our cluster", http.client)
            challenge = self._challenges.make(os.urandom(SERIAL_BYTES).hex(), now)
            await http.respond(401, challenge.encode(), TEXT)
            return
        if http.connection is not None and not http.connection.admitted(f"server {of}"):
            await http.respond(503)
            return
        channel = http.accept(RULES, SocketChannel)
        if channel is not None:
            await self._door.serve_far(channel, of)
