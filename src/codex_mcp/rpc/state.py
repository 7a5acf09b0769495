"""Pure. Which requests are open, in both directions, on one connection.

    ours (we asked)       open() -> id        settle(id): was it open?      close(): who waits in vain
    theirs (they asked)   accept(id): verdict answered(id): may it be sent?

Every request accepted is answered exactly once: `answered()` says yes a single time per id.
"""

from __future__ import annotations

from enum import StrEnum

from codex_mcp.wire.jsonrpc import Id


class Verdict(StrEnum):
    """May this request begin?"""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    TOO_MANY = "too many"
    CLOSING = "closing"


class OpenCalls:
    """The requests that wait for an answer."""

    def __init__(self, max_theirs: int) -> None:
        self.max_theirs = max_theirs
        self.closing = False
        """Nothing of theirs begins any longer."""
        self.closed = False
        """Nothing will be answered any longer."""
        self._next_id = 0
        self._ours: set[int] = set()
        self._theirs: set[Id] = set()

    def __repr__(self) -> str:
        return f"<OpenCalls: {len(self._ours)} ours, {len(self._theirs)} theirs{', closing' if self.closing else ''}>"

    def open(self) -> int:
        """A request of ours goes out under this id."""
        message_id = self._next_id
        self._next_id += 1
        self._ours.add(message_id)
        return message_id

    def settle(self, message_id: Id | None) -> bool:
        """An answer came, or nobody waits for it any longer. False: no such request is open."""
        if isinstance(message_id, int) and message_id in self._ours:
            self._ours.remove(message_id)
            return True
        return False

    def accept(self, message_id: Id) -> Verdict:
        """A request of theirs came in."""
        if self.closing:
            return Verdict.CLOSING
        if message_id in self._theirs:
            return Verdict.DUPLICATE
        if len(self._theirs) >= self.max_theirs:
            return Verdict.TOO_MANY
        self._theirs.add(message_id)
        return Verdict.ACCEPTED

    def answered(self, message_id: Id) -> bool:
        """We are about to answer. False: that request is not open, so say nothing."""
        if message_id not in self._theirs:
            return False
        self._theirs.remove(message_id)
        return True

    def stop_accepting(self) -> None:
        """Refuse what comes from now on; what runs may finish."""
        self.closing = True

    def close(self) -> list[int]:
        """Nothing more will be read. Return our requests that will never be answered; theirs may still be answered."""
        self.closing = self.closed = True
        waiting, self._ours = sorted(self._ours), set()
        return waiting
