"""Observers of a thread: they get a copy of every event, whoever its turn belongs to.

They are known by the thread's id, so that they stay when the thread is unloaded and opened again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from codex_mcp.codex.events.translator import Event

Observer: TypeAlias = Callable[[str, Event], None]
"""Receives a thread's id and an event. It must not raise, and must not wait."""


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
