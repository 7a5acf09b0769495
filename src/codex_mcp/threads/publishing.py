"""Sends the events of one thread to its observers, and to the audience of the turn that each event is about."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final, Protocol

from codex_mcp.codex.core import Event
from codex_mcp.threads.events.translator import EventTranslator
from codex_mcp.threads.observers import Observers
from codex_mcp.threads.turn import Audience, Turn
from codex_mcp.wire.app.requests import ThreadOpened

EARLY_EVENTS: Final = 256
"""Events kept for the first turn: they arrive after the thread is opened and before its first prompt."""


class Host(Protocol):
    """The thread."""

    id: str
    newest: Turn | None

    @property
    def current(self) -> Turn | None: ...

    def turn(self, turn_id: str) -> Turn | None:
        """Even if it has ended."""


class Publishing:
    def __init__(
        self, host: Host, observers: Observers, translator: EventTranslator, opened: ThreadOpened | None
    ) -> None:
        self._host = host
        self._observers = observers
        self._early: deque[Event] = deque(translator.thread_opened(opened), maxlen=EARLY_EVENTS)

    def publish(self, events: Iterable[Event], about: Turn | None = None) -> None:
        """Send each event to the audience of its own turn, even after that turn has ended. Most are `about` one."""
        host = self._host
        for event in events:
            if host.id in self._observers.of:
                self._observers.tell(host.id, event)
            turn = about
            if turn is None or turn.place.turn_id != event.turn_id:
                turn = host.turn(event.turn_id) or host.current or host.newest
            if turn is None:
                self._early.append(event)
            else:
                turn.audience.event_happened(host.id, event)

    def catch_up(self, audience: Audience) -> None:
        """This is the audience of the first turn."""
        while self._early:
            audience.event_happened(self._host.id, self._early.popleft())
