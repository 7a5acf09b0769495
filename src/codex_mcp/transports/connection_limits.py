"""Pure. Which connections to close, so that no client takes the place of others.

A connection is unadmitted until a request on it was let in, and then belongs to a principal.

    unadmitted   at most a quarter of all connections, and an eighth from one address (other than this machine);
                 beyond that the oldest one is closed, of that address or of all
    all          at most `total`; beyond that the oldest unadmitted one is closed
    admitted     at most seven eighths of all; beyond that one is closed as `budgets` says

A connection of the last second, or one with unread input, is spared: it may be about to send its token, and hundreds of
clients may connect at once. It is closed only if there are more than `total` connections.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterable
from itertools import islice
from typing import Final, Generic, TypeVar

from codex_mcp.transports.budgets import Budget, Use

Key = TypeVar("Key", bound=Hashable)

YOUNG: Final = 1.0
"""Seconds in which a client may send its first request, if there is room."""

CANDIDATES: Final = 32
"""The oldest unadmitted connections, among which one that has sent nothing is closed."""


class ConnectionLimits(Generic[Key]):
    def __init__(self, total: int) -> None:
        self.total = total
        self.most = max(1, total // 4)
        self.most_of_address = max(1, total // 8)
        self._unadmitted: OrderedDict[Key, tuple[str, float]] = OrderedDict()
        self._of_address: Counter[str] = Counter()
        self._admitted: Budget[Key] = Budget(max(1, total - max(1, total // 8)))

    def __len__(self) -> int:
        return len(self._unadmitted) + len(self._admitted)

    @property
    def count(self) -> int:
        return len(self._unadmitted)

    def opened(self, key: Key, address: str, now: float, has_sent: Callable[[Key], bool]) -> list[Key]:
        """Add a new connection; an empty address is this machine. Return the connections to close."""
        self._unadmitted[key] = (address, now)
        self._of_address[address] += 1
        is_full = len(self) > self.total
        candidates: Iterable[Key] = ()
        if address and self._of_address[address] > self.most_of_address:
            candidates = (each for each, (of, _) in self._unadmitted.items() if of == address)
        elif is_full or len(self._unadmitted) > self.most:
            candidates = self._unadmitted
        for each in islice(candidates, CANDIDATES):
            if (is_full or now - self._unadmitted[each][1] >= YOUNG) and not has_sent(each):
                break
        else:
            if not is_full:
                return []
            each = next(iter(self._unadmitted))
        self.closed(each)
        return [each]

    def admitted(self, key: Key, principal: str, use: Callable[[Key], Use]) -> Key | None:
        """A request on it was let in. Return the connection to close, if there is one: perhaps this one."""
        if key not in self._unadmitted and key not in self._admitted:
            return None  # it was closed
        self.closed(key)
        self._admitted.hold(key, principal)
        gone = self._admitted.to_go(key, use)
        if gone is not None:
            self.closed(gone)
        return gone

    def closed(self, key: Key) -> None:
        """The connection has ended. May be called twice."""
        self._admitted.release(key)
        address, _ = self._unadmitted.pop(key, (None, 0.0))
        if address is not None:
            self._of_address[address] -= 1
            if not self._of_address[address]:
                del self._of_address[address]
