"""Who is told about the turns of a thread."""

from __future__ import annotations

from typing import Protocol, TypeVar

from codex_mcp.threads.turn import Turn

ThreadT = TypeVar("ThreadT", contravariant=True)
"""The thread: `Thread`, which imports this module and so cannot be named here."""


class TurnListener(Protocol[ThreadT]):
    """Who wants to know when a thread gets busy, and when a turn of it is over."""

    def turn_submitted(self, thread: ThreadT, turn: Turn) -> None:
        """There is one more to do."""

    def turn_concluded(self, thread: ThreadT, turn: Turn) -> None:
        """Its outcome is known; `thread.idle` tells whether another one follows."""

    def turn_left(self, thread: ThreadT) -> None:
        """The core is done with a turn that was concluded before: it had not even begun when its caller was told."""

    def question_decided(self, thread: ThreadT, turn: Turn, word: str) -> None:
        """The core has asked something, and this is what was decided, or that it was withdrawn."""
