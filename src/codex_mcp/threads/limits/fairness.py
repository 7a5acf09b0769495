"""Pure. The order in which work of different principals starts, so that none waits for all the work of another.

At most `starts` threads and turns start at the same time. The others wait, and

    between principals    the least recently served one is next
    within a principal    turns and openings of threads alternate while both wait, each in order of arrival
    running turns         a principal has at most `running_each`; at that limit only its openings are served

A slot is free again when the thread is open, or when the turn has been running for a moment or has ended. Each method
returns the keys that may start now. A slot is never free while something waits that may use it.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)


class _Line(Generic[Key]):
    __slots__ = ("openings", "opens_next", "turns")

    def __init__(self) -> None:
        self.turns: deque[Key] = deque()
        self.openings: deque[Key] = deque()
        self.opens_next = False

    def __len__(self) -> int:
        return len(self.turns) + len(self.openings)

    def next(self, *, may_run: bool) -> Key | None:
        turns_wait = bool(self.turns) and may_run
        opens = bool(self.openings) and (self.opens_next or not turns_wait)
        if not opens and not turns_wait:
            return None
        self.opens_next = not opens
        return self.openings.popleft() if opens else self.turns.popleft()


class FairQueue(Generic[Key]):
    def __init__(self, starts: int, running_each: int) -> None:
        self._starts = starts
        self._running_each = running_each
        self._lines: OrderedDict[str, _Line[Key]] = OrderedDict()
        """Principals with waiting work, the least recently served first."""
        self._principals: dict[Key, str] = {}
        self._starting: set[Key] = set()
        self._turns: set[Key] = set()
        self._running: Counter[str] = Counter()

    def waiting(self, principal: str) -> int:
        line = self._lines.get(principal)
        return 0 if line is None else len(line)

    def ask(self, principal: str, key: Key, *, opens: bool) -> list[Key]:
        """Queue the opening of a thread (`opens`) or a turn."""
        self._principals[key] = principal
        line = self._lines.setdefault(principal, _Line())
        (line.openings if opens else line.turns).append(key)
        return self._served()

    def started(self, key: Key) -> list[Key]:
        """A turn is running: its slot is free."""
        self._starting.discard(key)
        return self._served()

    def ended(self, key: Key) -> list[Key]:
        """It has ended, or was withdrawn. Calling it again is fine."""
        principal = self._principals.pop(key, None)
        if principal is None:
            return []
        self._starting.discard(key)
        if key in self._turns:
            self._turns.discard(key)
            self._running[principal] -= 1
            if not self._running[principal]:
                del self._running[principal]
        elif (line := self._lines.get(principal)) is not None:
            for each in (line.turns, line.openings):
                if key in each:
                    each.remove(key)
            if not line:
                del self._lines[principal]
        return self._served()

    def _served(self) -> list[Key]:
        served: list[Key] = []
        while len(self._starting) < self._starts and (key := self._next()) is not None:
            served.append(key)
        return served

    def _next(self) -> Key | None:
        for principal, line in self._lines.items():
            may_run = self._running[principal] < self._running_each
            turns = len(line.turns)
            key = line.next(may_run=may_run)
            if key is None:
                continue
            self._starting.add(key)
            if len(line.turns) < turns:
                self._turns.add(key)
                self._running[principal] += 1
            if line:
                self._lines.move_to_end(principal)
            else:
                del self._lines[principal]
            return key
        return None
