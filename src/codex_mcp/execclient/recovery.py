"""Pure. One client, one connection after the other: which one is current, and when to give up.

    state       lost(generation)           attempt()         not_resumed(trouble)         resumed()     close()
    ----------  -------------------------  ----------------  ---------------------------  ------------  ---------
    CONNECTED   current: -> RECOVERING     None              None                         no change     -> FAILED
                or, not to be resumed:
                -> FAILED
                older: no change
    RECOVERING  no change                  next generation   passing: wait, then again    -> CONNECTED  -> FAILED
                                           too late:         permanent, or too late:
                                           -> FAILED         -> FAILED
    FAILED      no change                  None              None                         no change     no change

A generation is the n-th connection of the client. The deadline counts from the moment of the loss. FAILED is final, and
its text never changes: everyone who waits is told the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

RECOVERY_SECONDS: Final = 25.0
"""How long we try. The server keeps a detached session 30 s; the two clocks do not start at the same moment."""

RETRY_SECONDS: Final = 0.1
"""Between two attempts: a server that still holds the old connection lets go of it within milliseconds."""


class State(StrEnum):
    """May calls be made?"""

    CONNECTED = "connected"
    RECOVERING = "recovering"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why an attempt to resume did not succeed, and whether another one may."""

    reason: str
    is_passing: bool


class Recovery:
    """The state of one client's connection."""

    def __init__(self, *, can_resume: bool, seconds: float = RECOVERY_SECONDS) -> None:
        """`can_resume` is false where there is nothing to dial again, such as a child's pipes."""
        self.state = State.CONNECTED
        self.generation = 1
        """The current connection, or the one that is being tried."""
        self.deadline = 0.0
        """While recovering: when to give up."""
        self.failure = ""
        """Once failed: why, as a sentence."""
        self._can_resume = can_resume
        self._seconds = seconds
        self._loss = ""

    def __repr__(self) -> str:
        return f"<Recovery: {self.state}, generation {self.generation}>"

    def lost(self, generation: int, now: float, reason: str) -> bool:
        """A connection ended. True: it was the current one, so that calls wait while we recover (or we have failed)."""
        if self.state is not State.CONNECTED or generation != self.generation:
            return False
        self._loss = reason
        self.state = State.RECOVERING
        self.deadline = now + self._seconds
        if not self._can_resume:
            self._fail("it cannot be dialled again")
        return True

    def attempt(self, now: float) -> int | None:
        """Begin an attempt; return its generation, or None if it is too late."""
        if self.state is not State.RECOVERING:
            return None
        if now >= self.deadline:
            self._fail(f"there was no success within {self._seconds:g} seconds")
            return None
        self.generation += 1
        return self.generation

    def not_resumed(self, trouble: Trouble, now: float) -> float | None:
        """An attempt failed; return the seconds to wait before the next, or None if it was the last."""
        if self.state is not State.RECOVERING:
            return None
        if not trouble.is_passing:
            self._fail(trouble.reason)
            return None
        if now + RETRY_SECONDS >= self.deadline:
            self._fail(f"there was no success within {self._seconds:g} seconds; at last: {trouble.reason}")
            return None
        return RETRY_SECONDS

    def resumed(self) -> None:
        """The connection that was being tried is the current one."""
        if self.state is State.RECOVERING:
            self.state = State.CONNECTED

    def close(self) -> None:
        """Nobody wants the session any longer."""
        if self.state is not State.FAILED:
            self.state = State.FAILED
            self.failure = "cannot use the exec-server: this client was closed"

    def _fail(self, why: str) -> None:
        self.state = State.FAILED
        loss = f" ({self._loss})" if self._loss else ""
        self.failure = f"cannot go on: the connection to the exec-server was lost{loss} and not resumed: {why}"
