"""One WebSocket of an executor or a harness: what it sends goes on at once, what it is sent waits within bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from codex_mcp.transports.direct_socket import DirectSocket

MAX_WAITING: Final = 16 * 1024 * 1024
"""Bytes for one socket. Executors of ours stop after 1 MiB without an acknowledgement; Codex 0.166.0 never stops."""

ENOUGH: Final = 1024 * 1024
"""Bytes for an executor above which its harnesses are not read."""

TOO_SLOW: Final = (1008, "this end does not read what it is sent")
SUPERSEDED: Final = (1008, "another connection has taken its place")
REVOKED: Final = (1008, "its token no longer allows this")
REFUSED: Final = (1008, "the executor refused too many handshakes of this connection")
RESTARTING: Final = (1012, "the rendezvous stops")


class RelaySocket:
    def __init__(self, number: int, direct: DirectSocket) -> None:
        self.number = number
        self._direct = direct
        self._received: Callable[[bytes], None] | None = None
        self._is_closing = False
        self._has_room = True
        self._senders: dict[RelaySocket, None] = {}
        """Are not read until there is room."""

    def begin(self, received: Callable[[bytes], None]) -> None:
        """Read, after the accept."""
        self._received = received
        self._direct.deliver_to(self, ENOUGH)

    def message_received(self, message: bytes) -> None:
        if self._received is not None:
            self._received(message)

    def room_changed(self, *, has_room: bool) -> None:
        self._has_room = has_room
        if has_room:
            senders, self._senders = self._senders, {}
            for sender in senders:
                sender._direct.release()

    def put(self, frame: bytes) -> bool:
        """Send a frame; False if too many wait, and then it is not sent."""
        if self._is_closing:
            return True
        if self._direct.unsent + len(frame) > MAX_WAITING or not self._direct.has_room_for(len(frame)):
            return False
        self._direct.send_message(frame)
        return True

    @property
    def is_full(self) -> bool:
        return not self._has_room and not self._is_closing

    def slow_down(self, sender: RelaySocket) -> None:
        """Do not read from this one while there is no room."""
        if self.is_full and sender not in self._senders:
            sender._direct.hold()
            self._senders[sender] = None

    def close(self, why: tuple[int, str]) -> None:
        """Send what is queued, then close."""
        self._is_closing = True
        self._direct.close_with(*why)
        self.room_changed(has_room=True)

    def abort(self) -> None:
        """Close at once: the other end does not read."""
        self.close(TOO_SLOW)
        self._direct.abort()
