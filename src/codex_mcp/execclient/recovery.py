"""Pure. Recovery of a client's connection: which connection is current, and when to give up.

    state       lost(generation)           attempt()         not_resumed(failure)         resumed()     close()
    ----------  -------------------------  ----------------  ---------------------------  ------------  ---------
    CONNECTED   current: -> RECOVERING     None              None                         no change     -> FAILED
                or, not to be resumed:
                -> FAILED
                older: no change
    RECOVERING  no change                  next generation   temporary: wait, then again  -> CONNECTED  -> FAILED
                                           too late:         permanent, or too late:
                                           -> FAILED         -> FAILED
    FAILED      no change                  None              None                         no change     no change

Generation n is the client's n-th connection. The deadline counts from the loss. FAILED is final, and its text never
changes: all waiting callers get the same error.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from msgspec import Struct

RECOVERY_SECONDS: Final = 25.0
"""How long to try. The server keeps a detached session for 30 s, but notices the loss at a different moment."""

RETRY_SECONDS: Final = 0.1
"""Between two attempts: a server that still holds the old connection releases it within milliseconds."""


class ConnectionState(StrEnum):
    """Calls proceed while connected, wait while recovering, and fail afterwards."""

    CONNECTED = "connected"
    RECOVERING = "recovering"
    FAILED = "failed"


class ResumeFailure(Struct, frozen=True):
    """Why an attempt to resume failed, and whether another attempt may succeed."""

    reason: str
    is_temporary: bool


class Recovery:
    def __init__(self, *, can_resume: bool, seconds: float = RECOVERY_SECONDS) -> None:
        """`can_resume` is false for a channel that cannot be opened again, such as a child's pipes."""
        self.state = ConnectionState.CONNECTED
        self.generation = 1
        """The current connection, or the one being tried."""
        self.deadline = 0.0
        """While recovering: when to give up."""
        self.failure = ""
        """Once failed: the error message."""
        self._can_resume = can_resume
        self._seconds = seconds
        self._loss = ""

    def __repr__(self) -> str:
        return f"<Recovery: {self.state}, generation {self.generation}>"

    def lost(self, generation: int, now: float, reason: str) -> bool:
        """A connection ended. True if it was the current one: the state is now RECOVERING or FAILED."""
        if self.state is not ConnectionState.CONNECTED or generation != self.generation:
            return False
        self._loss = reason
        self.state = ConnectionState.RECOVERING
        self.deadline = now + self._seconds
        if not self._can_resume:
            self._fail("it cannot be reopened")
        return True

    def attempt(self, now: float) -> int | None:
        """Begin an attempt; return its generation, or None after the deadline."""
        if self.state is not ConnectionState.RECOVERING:
            return None
        if now >= self.deadline:
            self._fail(f"no attempt succeeded within {self._seconds:g} seconds")
            return None
        self.generation += 1
        return self.generation

    def not_resumed(self, failure: ResumeFailure, now: float) -> float | None:
        """An attempt failed; return the seconds to wait before the next one, or None if it was the last."""
        if self.state is not ConnectionState.RECOVERING:
            return None
        if not failure.is_temporary:
            self._fail(failure.reason)
            return None
        if now + RETRY_SECONDS >= self.deadline:
            self._fail(f"no attempt succeeded within {self._seconds:g} seconds; the last one: {failure.reason}")
            return None
        return RETRY_SECONDS

    def resumed(self) -> None:
        if self.state is ConnectionState.RECOVERING:
            self.state = ConnectionState.CONNECTED

    def close(self) -> None:
        if self.state is not ConnectionState.FAILED:
            self.state = ConnectionState.FAILED
            self.failure = "cannot use the exec-server: this client was closed"

    def _fail(self, why: str) -> None:
        self.state = ConnectionState.FAILED
        loss = f" ({self._loss})" if self._loss else ""
        self.failure = f"cannot continue: the connection to the exec-server was lost{loss} and not resumed: {why}"
