"""Listeners, which are told about turns, and observers, which get a copy of every event of a thread.

Observers are known by the thread's id, so that they stay when the thread is unloaded and opened again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

from codex_mcp.codex.events.translator import Event
from codex_mcp.threads.questions.board import Receipt
from codex_mcp.threads.turn import Turn

Observer: TypeAlias = Callable[[str, Event], None]
"""Receives a thread's id and an event. It must not raise, and must not wait."""


class TurnListener(Protocol):
    """Told about the turns of threads. A thread is a `Thread`, whose module imports this one."""

    def turn_submitted(self, thread: Any, turn: Turn) -> None:
        """A turn was queued."""

    def why_not(self, thread: Any, turn: Turn) -> str:
        """Why this turn, which is about to begin, may not; empty if it may."""

    def why_no_more(self, thread: Any, ahead: int) -> str:
        """Why Codex may not begin another turn by itself once it has used that many tokens more; empty if it may."""

    def turn_begun_by_codex(self, thread: Any) -> None:
        """Codex has begun a turn by itself, here or in a sub-agent."""

    def tokens_counted(self, thread: Any) -> None:
        """A turn has used more tokens; they are in its record."""

    def tokens_used(self, thread: Any, tokens: int) -> None:
        """Codex has used tokens that are part of no turn's outcome."""

    def turn_concluded(self, thread: Any, turn: Turn) -> None:
        """Its outcome is known; `thread.idle` tells whether another turn follows."""

    def turn_left(self, thread: Any) -> None:
        """The core is done with a turn that was concluded earlier, because it was stopped before it had begun."""

    def question_decided(self, thread: Any, turn: Turn, receipt: Receipt) -> None:
        """A question of the core has come to its end."""


class Observers:
    def __init__(self) -> None:
        self._of: dict[str, list[Observer]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._of.values()))

    def add(self, thread_id: str, observer: Observer) -> None:
        """Tell this observer all later events of the thread. One that is added twice is told twice."""
        self._of.setdefault(thread_id, []).append(observer)

    def remove(self, thread_id: str, observer: Observer) -> None:
        """Stop telling this observer. One that is not there is ignored."""
        observers = self._of.get(thread_id, [])
        if observer in observers:
            observers.remove(observer)
        if not observers:
            self._of.pop(thread_id, None)

    def tell(self, thread_id: str, event: Event) -> None:
        for observer in tuple(self._of.get(thread_id, ())):
            observer(thread_id, event)

    def thread_named(self, provisional_id: str, thread_id: str) -> None:
        """The thread has received its own id."""
        if provisional_id in self._of:
            self._of[thread_id] = self._of.pop(provisional_id)
