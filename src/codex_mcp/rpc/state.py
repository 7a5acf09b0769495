"""Pure. Which requests are open, in both directions, on one connection.

    ours (sent)         open() -> id        settle(id): was it open?      close(): requests without an answer
    theirs (received)   accept(id): verdict answered(id): may it be sent?

Every accepted request is answered exactly once: `answered()` is True once per accepted id.
"""

from __future__ import annotations

from enum import StrEnum

from codex_mcp.wire.jsonrpc import Id


class Acceptance(StrEnum):
    """Whether a received request may start."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    TOO_MANY = "too many"
    CLOSING = "closing"


class OpenCalls:
    def __init__(self, max_theirs: int) -> None:
        self.max_theirs = max_theirs
        self.closing = False
        """New requests of theirs are refused."""
        self.closed = False
        """No more answers will come."""
        self._next_id = 0
        self._ours: set[int] = set()
        self._theirs: set[Id] = set()

    def __repr__(self) -> str:
        return f"<OpenCalls: {len(self._ours)} ours, {len(self._theirs)} theirs{', closing' if self.closing else ''}>"

    def open(self) -> int:
        message_id = self._next_id
        self._next_id += 1
        self._ours.add(message_id)
        return message_id

    def settle(self, message_id: Id | None) -> bool:
        """An answer came, or its caller gave up. False: no such request is open."""
        if isinstance(message_id, int) and message_id in self._ours:
            self._ours.remove(message_id)
            return True
        return False

    def accept(self, message_id: Id) -> Acceptance:
        if self.closing:
            return Acceptance.CLOSING
        if message_id in self._theirs:
            return Acceptance.DUPLICATE
        if len(self._theirs) >= self.max_theirs:
            return Acceptance.TOO_MANY
        self._theirs.add(message_id)
        return Acceptance.ACCEPTED

    def answered(self, message_id: Id) -> bool:
        """We are about to answer. False: that request is not open, so send nothing."""
        if message_id not in self._theirs:
            return False
        self._theirs.remove(message_id)
        return True

    def accept_up_to(self, requests: int) -> None:
        self.max_theirs = requests

    def stop_accepting(self) -> None:
        self.closing = True

    def close(self) -> list[int]:
        """Nothing more will be read. Return our requests that will get no answer; theirs may still be answered."""
        self.closing = self.closed = True
        waiting, self._ours = sorted(self._ours), set()
        return waiting
