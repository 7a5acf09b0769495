"""Pure. Which connections are closed, so that those without a valid token never take what others need.

A connection is a stranger until a request on it was let in.

    strangers   at most half of all connections, and from one address (other than this machine's) an eighth;
                beyond that the oldest stranger goes, of that address or of all
    all         at most `total`; beyond that the oldest stranger goes
    admitted    never closed here

A stranger of the last second, or one that has sent something which was not read yet, is spared: it may be just about to
show its token, and hundreds of clients may connect at once. Only if there are more than `total` connections does one go
in any case.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterable
from itertools import islice
from typing import Final, Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)

YOUNG: Final = 1.0
"""Seconds in which a client may send its first request undisturbed, if there is room."""

LOOKED_AT: Final = 32
"""Strangers, the oldest first, of which one that has sent nothing is looked for."""


class Strangers(Generic[Key]):
    """The connections of a server."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.most = max(1, total // 2)
        self.most_of_address = max(1, total // 8)
        self._strangers: OrderedDict[Key, tuple[str, float]] = OrderedDict()
        self._of_address: Counter[str] = Counter()
        self._admitted: set[Key] = set()

    def __len__(self) -> int:
        """How many connections there are."""
        return len(self._strangers) + len(self._admitted)

    @property
    def count(self) -> int:
        """How many of them are strangers."""
        return len(self._strangers)

    def opened(self, key: Key, address: str, now: float, has_sent: Callable[[Key], bool]) -> list[Key]:
        """There is a new one; an empty address is this machine. Returns those that are to be closed."""
        self._strangers[key] = (address, now)
        self._of_address[address] += 1
        is_full = len(self) > self.total
        candidates: Iterable[Key] = ()
        if address and self._of_address[address] > self.most_of_address:
            candidates = (each for each, (of, _) in self._strangers.items() if of == address)
        elif is_full or len(self._strangers) > self.most:
            candidates = self._strangers
        for each in islice(candidates, LOOKED_AT):
            if (is_full or now - self._strangers[each][1] >= YOUNG) and not has_sent(each):
                break
        else:
            if not is_full:
                return []
            each = next(iter(self._strangers))
        self.closed(each)
        return [each]

    def admitted(self, key: Key) -> None:
        """A request on it was let in."""
        if key in self._strangers:
            self.closed(key)
            self._admitted.add(key)

    def closed(self, key: Key) -> None:
        """It is over. Twice is fine."""
        self._admitted.discard(key)
        address, _ = self._strangers.pop(key, (None, 0.0))
        if address is not None:
            self._of_address[address] -= 1
            if not self._of_address[address]:
                del self._of_address[address]
