"""Listeners, which are told about turns, and observers, which get a copy of every event of a thread.

Observers are known by the thread's id, so that they stay when the thread is unloaded and opened again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from codex_mcp.codex.core import Event, Told
from codex_mcp.threads.questions.board import Receipt
from codex_mcp.threads.turn import Turn

Observer: TypeAlias = Callable[[str, Event], None]
"""Receives a thread's id and an event. It must not raise, and must not wait."""


Reader: TypeAlias = Callable[[Told], None]
"""Receives the messages of the core about a thread, before they become events. It must not raise, and must not wait."""


class TurnListener:
    """Told about the turns of threads. A thread is a `Thread`, whose module imports this one."""

    def turn_submitted(self, thread: Any, turn: Turn) -> None:
        """A turn was queued."""

    def why_not(self, thread: Any, turn: Turn) -> str:
        """Why this turn, which is about to begin, may not; empty if it may."""
        return ""

    def why_no_more(self, thread: Any, ahead: int) -> str:
        """Why Codex may not begin another turn by itself once it has used that many tokens more; empty if it may."""
        return ""

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
        self.of: dict[str, list[Observer]] = {}
        """Of the events of each thread."""
        self.readers: dict[str, list[Reader]] = {}
        """Of the messages of each thread."""

    def __len__(self) -> int:
        return sum(map(len, self.of.values())) + sum(map(len, self.readers.values()))

    def add(self, thread_id: str, observer: Observer) -> None:
        """Tell this observer all later events of the thread. One that is added twice is told twice."""
        self.of.setdefault(thread_id, []).append(observer)

    def remove(self, thread_id: str, observer: Observer) -> None:
        """Stop telling this observer. One that is not there is ignored."""
        observers = self.of.get(thread_id, [])
        if observer in observers:
            observers.remove(observer)
        if not observers:
            self.of.pop(thread_id, None)

    def tell(self, thread_id: str, event: Event) -> None:
        for observer in tuple(self.of.get(thread_id, ())):
            observer(thread_id, event)

    def add_reader(self, thread_id: str, reader: Reader) -> Callable[[], None]:
        """Tell this one all later messages of the thread, until the returned function is called."""
        self.readers[thread_id] = [*self.readers.get(thread_id, ()), reader]

        def remove() -> None:
            left = [each for each in self.readers.pop(thread_id, ()) if each is not reader]
            if left:
                self.readers[thread_id] = left

        return remove

    def tell_message(self, thread_id: str, told: Told) -> None:
        for reader in self.readers.get(thread_id, ()):
            reader(told)

    def thread_named(self, provisional_id: str, thread_id: str) -> None:
        """The thread has received its own id."""
        if provisional_id in self.of:
            self.of[thread_id] = self.of.pop(provisional_id)
