"""Pure. Which connections are closed, so that those without a valid token never take what others need.

A connection is a stranger until a request on it was let in.

    strangers   at most half of all connections, and from one address (other than this machine's) an eighth;
                beyond that the oldest stranger goes, of that address or of all
    all         at most `total`; beyond that the oldest stranger goes
    admitted    never closed here

A stranger that has sent something which was not read yet is spared if another one can go: it may be just about to show
its token.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)


class Strangers(Generic[Key]):
    """The connections of a server."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.most = max(1, total // 2)
        self.most_of_address = max(1, total // 8)
        self._strangers: OrderedDict[Key, str] = OrderedDict()
        self._of_address: Counter[str] = Counter()
        self._admitted: set[Key] = set()

    def __len__(self) -> int:
        """How many connections there are."""
        return len(self._strangers) + len(self._admitted)

    @property
    def count(self) -> int:
        """How many of them are strangers."""
        return len(self._strangers)

    def opened(self, key: Key, address: str, has_sent: Callable[[Key], bool]) -> list[Key]:
        """There is a new one; an empty address is this machine. Returns those that are to be closed."""
        self._strangers[key] = address
        self._of_address[address] += 1
        if address and self._of_address[address] > self.most_of_address:
            return self._gone([each for each, of in self._strangers.items() if of == address], has_sent)
        if len(self._strangers) > self.most or len(self) > self.total:
            return self._gone(list(self._strangers), has_sent)
        return []

    def _gone(self, candidates: list[Key], has_sent: Callable[[Key], bool]) -> list[Key]:
        gone = next((key for key in candidates if not has_sent(key)), candidates[0])
        self.closed(gone)
        return [gone]

    def admitted(self, key: Key) -> None:
        """A request on it was let in."""
        address = self._strangers.pop(key, None)
        if address is not None:
            self._count_less(address)
            self._admitted.add(key)

    def closed(self, key: Key) -> None:
        """It is over. Twice is fine."""
        self._admitted.discard(key)
        address = self._strangers.pop(key, None)
        if address is not None:
            self._count_less(address)

    def _count_less(self, address: str) -> None:
        self._of_address[address] -= 1
        if not self._of_address[address]:
            del self._of_address[address]
