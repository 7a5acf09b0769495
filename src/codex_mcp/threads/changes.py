"""Tells callers that wait for a thread that something about it has changed: a turn was added or ended, it was closed.

Keys are thread ids, codex_ids and callers. A key has no entry unless a caller waits for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from codex_mcp.threads.listener import TurnListener
from codex_mcp.threads.thread import Thread
from codex_mcp.threads.turn import Turn
from codex_mcp.threads.waiters import Watcher, tell

ANY_THREAD: Final = "*"
"""The key of changes to any thread."""


class Changes:
    """Watchers by key."""

    def __init__(self) -> None:
        self._watchers: dict[str, list[Watcher]] = {}

    def __len__(self) -> int:
        """How many keys are watched."""
        return len(self._watchers)

    def watch(self, keys: Iterable[str], watcher: Watcher) -> None:
        """Tell this one at the next change of one of these."""
        for key in keys:
            self._watchers.setdefault(key, []).append(watcher)

    def unwatch(self, keys: Iterable[str], watcher: Watcher) -> None:
        """It does not wait any longer."""
        for key in keys:
            watchers = self._watchers.get(key, [])
            if watcher in watchers:
                watchers.remove(watcher)
            if not watchers:
                self._watchers.pop(key, None)

    def tell(self, *keys: str) -> None:
        """Something has changed."""
        for key in keys:
            for watcher in self._watchers.pop(key, ()):
                tell(watcher)


class ChangeListener:
    """Hears of the turns of a thread, tells the callers that wait for it, and passes on what it hears."""

    def __init__(self, changes: Changes, listener: TurnListener[Thread] | None) -> None:
        self._changes = changes
        self._listener = listener

    def turn_submitted(self, thread: Thread, turn: Turn) -> None:
        """A caller that waits for this thread waits for this turn, too."""
        if self._listener is not None:
            self._listener.turn_submitted(thread, turn)
        self._changes.tell(thread.id)

    def turn_concluded(self, thread: Thread, turn: Turn) -> None:
        """There is an answer."""
        if self._listener is not None:
            self._listener.turn_concluded(thread, turn)
        self._changes.tell(thread.id, ANY_THREAD)

    def turn_left(self, thread: Thread) -> None:
        """Nothing that a caller waits for."""
        if self._listener is not None:
            self._listener.turn_left(thread)

    def question_decided(self, thread: Thread, turn: Turn, word: str) -> None:
        """Nothing that a caller waits for."""
        if self._listener is not None:
            self._listener.question_decided(thread, turn, word)
