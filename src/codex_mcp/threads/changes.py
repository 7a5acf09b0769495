"""Tells callers that wait for a thread that something about it has changed: a turn was added or ended, it was closed.

Keys are thread ids, codex_ids and callers. A key has no entry unless a caller waits for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from codex_mcp.base.futures import Waiter, resolve
from codex_mcp.threads.listener import TurnListener
from codex_mcp.threads.thread import Thread
from codex_mcp.threads.turn import Turn

ANY_THREAD: Final = "*"
"""The key of changes to any thread."""


class Changes:
    """Waiters by key."""

    def __init__(self) -> None:
        self._waiters: dict[str, list[Waiter]] = {}

    def __len__(self) -> int:
        """How many keys are watched."""
        return len(self._waiters)

    def watch(self, keys: Iterable[str], waiter: Waiter) -> None:
        """Tell this one at the next change of one of these."""
        for key in keys:
            self._waiters.setdefault(key, []).append(waiter)

    def unwatch(self, keys: Iterable[str], waiter: Waiter) -> None:
        """It does not wait any longer."""
        for key in keys:
            waiters = self._waiters.get(key, [])
            if waiter in waiters:
                waiters.remove(waiter)
            if not waiters:
                self._waiters.pop(key, None)

    def tell(self, *keys: str) -> None:
        """Something has changed."""
        for key in keys:
            for waiter in self._waiters.pop(key, ()):
                resolve(waiter, None)


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
