"""Pure. How principals share one limited thing: connections, bytes of unfinished input, streams of an executor.

Whoever takes more than there is room for pays for it himself, or whoever has more than he:

    there is not enough, and the most has        what goes
    -------------------------------------------  ---------------------------------------------------------------
    the one who takes (or as much as any other)  his own longest idle one, else his own longest quiet one, else
                                                 his largest, if it is larger than what he takes, else that itself
    another one                                  that one's longest idle one, else its longest quiet one, else its
                                                 largest, and of equal ones the oldest

So nobody who keeps within his share (the limit divided by the principals that are there) loses anything to another one.
With `each`, one principal may have only so much, even if all else is free; beyond that the first row applies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from enum import IntEnum
from itertools import islice
from typing import Final, Generic, TypeVar

from msgspec import Struct

Key = TypeVar("Key", bound=Hashable)

CANDIDATES: Final = 4096
"""The oldest ones of a principal, among which one is chosen: the choice takes a bounded time."""


class Rank(IntEnum):
    """What goes first."""

    IDLE = 0
    """Nothing is asked, nothing is answered: a connection that is kept for the next request."""
    QUIET = 1
    """A stream that is open and carries nothing now."""
    BUSY = 2
    """A request is answered or a message arrives."""


class Use(Struct, frozen=True):
    rank: Rank
    since: float = 0.0


class _Held(Struct):
    principal: str
    amount: int


class Budget(Generic[Key]):
    def __init__(self, limit: int, each: int | None = None) -> None:
        self.limit = limit
        self.each = limit if each is None else each
        self.total = 0
        self._held: dict[Key, _Held] = {}
        self._of: Counter[str] = Counter()
        self._keys: dict[str, dict[Key, None]] = {}

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[Key]:
        return iter(list(self._held))

    def __contains__(self, key: Key) -> bool:
        return key in self._held

    def of(self, principal: str) -> int:
        return self._of[principal]

    def hold(self, key: Key, principal: str, amount: int = 1) -> None:
        """From now on this much is held here, on behalf of this principal."""
        self.release(key)
        if amount:
            self._held[key] = _Held(principal, amount)
            self._keys.setdefault(principal, {})[key] = None
            self._of[principal] += amount
            self.total += amount

    def change(self, key: Key, amount: int) -> None:
        """As much is held here now."""
        if (held := self._held.get(key)) is not None:
            self.hold(key, held.principal, amount)

    def release(self, key: Key) -> None:
        """May be called twice."""
        if (held := self._held.pop(key, None)) is not None:
            self.total -= held.amount
            self._of[held.principal] -= held.amount
            del self._keys[held.principal][key]
            if not self._keys[held.principal]:
                del self._keys[held.principal], self._of[held.principal]

    def to_go(self, taken: Key, use: Callable[[Key], Use]) -> Key | None:
        """What must go after `taken` was added or has grown; None if there is room. It may be `taken` itself."""
        who = self._held[taken].principal
        if self.total <= self.limit and self._of[who] <= self.each:
            return None
        most = max(self._of.values())
        if self._of[who] > self.each or self._of[who] == most:
            return self._own(taken, who, use)
        greedy = next(principal for principal, amount in self._of.items() if amount == most)
        return min(islice(self._keys[greedy], CANDIDATES), key=lambda key: self._order(key, use))

    def _own(self, taken: Key, who: str, use: Callable[[Key], Use]) -> Key:
        others = [key for key in islice(self._keys[who], CANDIDATES) if key != taken]
        first = min(others, key=lambda key: self._order(key, use), default=taken)
        is_larger = self._held[first].amount > self._held[taken].amount
        return first if is_larger or use(first).rank < Rank.BUSY else taken

    def _order(self, key: Key, use: Callable[[Key], Use]) -> tuple[Rank, int, float]:
        used = use(key)
        return used.rank, -self._held[key].amount, used.since
