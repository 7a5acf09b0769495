"""Pure. Which helper does a request, and which helpers end. Idle helpers are ordered, the most recently used last.

    a request comes, and idle is           it gets               these end
    -------------------------------------  --------------------  ------------------------------------------------
    a helper with the same view            the last such helper  all of its policy with another view
    none, and the pool is not full         a new helper          all of its policy
    none, and the pool is full             a new helper          all of its policy; else the least recently used

A view is a policy and what was found on the disk when it was applied. If something else is found now, a helper with the
earlier view might see or change what the policy forbids, so it is not used again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from msgspec import Struct

H = TypeVar("H")


class ViewKey(Struct, frozen=True):
    policy: Hashable
    fingerprint: Hashable
    """What the policy's paths were when the view was made."""


class IdleHelper(Struct, Generic[H], frozen=True):
    helper: H
    key: ViewKey
    since: float


class HelperPoolState(Generic[H]):
    def __init__(self, size: int, max_idle: float) -> None:
        """`size` limits idle and busy helpers together; an idle helper ends after `max_idle` seconds."""
        self._size = size
        self._max_idle = max_idle
        self._idle: list[IdleHelper[H]] = []
        self._busy = 0

    def __len__(self) -> int:
        return len(self._idle) + self._busy

    def take(self, key: ViewKey) -> tuple[H | None, list[H]]:
        """The helper for a request, or None for a new one; and those to end. It is busy until `put_back` or `lost`."""
        same = [one for one in self._idle if one.key == key]
        ended = self.remove(lambda one: one.key.policy == key.policy and one.key != key)
        self._busy += 1
        if same:
            self._idle.remove(same[-1])
            return same[-1].helper, ended
        if len(self) > self._size and self._idle:
            ended.append(self._idle.pop(0).helper)
        return None, ended

    def put_back(self, helper: H, key: ViewKey, now: float) -> None:
        self._busy -= 1
        self._idle.append(IdleHelper(helper, key, now))

    def lost(self) -> None:
        """A busy helper has ended, or was never started."""
        self._busy -= 1

    def remove(self, which: Callable[[IdleHelper[H]], bool]) -> list[H]:
        found = [one.helper for one in self._idle if which(one)]
        self._idle = [one for one in self._idle if not which(one)]
        return found

    def expire(self, now: float) -> list[H]:
        return self.remove(lambda one: one.since + self._max_idle <= now)

    def next_expiry(self) -> float | None:
        return self._idle[0].since + self._max_idle if self._idle else None
