"""Pure. Who listens to which conversation. Each listener gets its own copy of every event since it was added."""

from __future__ import annotations

from typing import Final, Generic, TypeVar

from msgspec import Struct

C = TypeVar("C")

MOST: Final = 16
"""Listeners of one client to one conversation; each costs a copy of every event."""


class Listener(Struct, Generic[C], frozen=True, eq=False):
    id: str
    owner: str
    conversation: str
    caller: C


class Listeners(Generic[C]):
    def __init__(self) -> None:
        self._by_id: dict[str, Listener[C]] = {}
        self._of: dict[tuple[str, str], list[Listener[C]]] = {}

    def __len__(self) -> int:
        return len(self._by_id)

    def of(self, owner: str, conversation: str) -> list[Listener[C]]:
        """In the order in which they were added."""
        return list(self._of.get((owner, conversation), ()))

    def to(self, conversation: str) -> list[Listener[C]]:
        """Those of all owners, in the order in which the owners began to listen."""
        return [each for (_, of), listeners in self._of.items() if of == conversation for each in listeners]

    def add(self, listener: Listener[C]) -> bool:
        """False if the owner has too many to this conversation."""
        listeners = self._of.setdefault((listener.owner, listener.conversation), [])
        if len(listeners) >= MOST:
            return False
        listeners.append(listener)
        self._by_id[listener.id] = listener
        return True

    def remove(self, owner: str, listener_id: str) -> Listener[C] | None:
        """The removed listener; None if this owner has no such listener."""
        listener = self._by_id.get(listener_id)
        if listener is None or listener.owner != owner:
            return None
        self._drop(listener)
        return listener

    def caller_gone(self, caller: C) -> list[Listener[C]]:
        """Remove the listeners of a caller."""
        gone = [listener for listener in self._by_id.values() if listener.caller is caller]
        for listener in gone:
            self._drop(listener)
        return gone

    def conversation_gone(self, owner: str, conversation: str) -> None:
        for listener in self.of(owner, conversation):
            self._drop(listener)

    def _drop(self, listener: Listener[C]) -> None:
        del self._by_id[listener.id]
        key = (listener.owner, listener.conversation)
        self._of[key].remove(listener)
        if not self._of[key]:
            del self._of[key]
