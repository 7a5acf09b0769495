"""Pure. Which helper does a request, and which are to end: those that wait for work, the one used last at the end.

    a request comes, and there waits       it gets          end
    -------------------------------------  ---------------  ---------------------------------------------
    one of the same view                   the last such    all of its policy that have another view
    none, and there is room                a new one        all of its policy
    none, and there is no room             a new one        all of its policy; else the one longest unused

A view is a policy and what was found on the disk when it was applied. If something else is found now, a helper of the
earlier view might see or change what the policy forbids; it is not asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

H = TypeVar("H")


@dataclass(frozen=True, slots=True)
class ViewKey:
    """What a helper may be asked for."""

    policy: Hashable
    sight: Hashable
    """What the policy's paths were when the view was made."""


@dataclass(frozen=True, slots=True)
class Waiting(Generic[H]):
    """A helper without work."""

    helper: H
    key: ViewKey
    since: float


class HelperShelf(Generic[H]):
    """The helpers that wait, and how many work."""

    def __init__(self, room: int, kept: float) -> None:
        """`room` is for so many helpers, working ones included; each waits for `kept` seconds."""
        self._room = room
        self._kept = kept
        self._waiting: list[Waiting[H]] = []
        self._working = 0

    def __len__(self) -> int:
        return len(self._waiting) + self._working

    def __repr__(self) -> str:
        return f"<HelperShelf {self._working} working, {len(self._waiting)} waiting>"

    def take(self, key: ViewKey) -> tuple[H | None, list[H]]:
        """The helper for a request, or None for a new one; and those to end. It works until `put_back` or `lost`."""
        same = [one for one in self._waiting if one.key == key]
        ended = self.remove(lambda one: one.key.policy == key.policy and one.key != key)
        self._working += 1
        if same:
            self._waiting.remove(same[-1])
            return same[-1].helper, ended
        if len(self) > self._room and self._waiting:
            ended.append(self._waiting.pop(0).helper)
        return None, ended

    def put_back(self, helper: H, key: ViewKey, now: float) -> None:
        """It has done its work."""
        self._working -= 1
        self._waiting.append(Waiting(helper, key, now))

    def lost(self) -> None:
        """One that worked is no more, or was never started."""
        self._working -= 1

    def remove(self, which: Callable[[Waiting[H]], bool]) -> list[H]:
        """Those of the waiting that are to end."""
        found = [one.helper for one in self._waiting if which(one)]
        self._waiting = [one for one in self._waiting if not which(one)]
        return found

    def expire(self, now: float) -> list[H]:
        """Those that have waited long enough."""
        return self.remove(lambda one: one.since + self._kept <= now)

    def next_expiry(self) -> float | None:
        """When the next one will have waited long enough."""
        return self._waiting[0].since + self._kept if self._waiting else None
