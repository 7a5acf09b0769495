"""Pure. What became of the mail of this server's agents, counted since it began.

offered      messages that were given to an agent in a prompt, each time
redelivered  those among them that may have been given before, as after a crash
started      messages whose turn has begun
read         messages that were then marked as read
held_back    messages that the loop protection keeps for later, each once
expired      idle notices that a newer one of the same sender has replaced before they were delivered
failed       messages whose turn did not begin; they stay unread and are offered again
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from itertools import accumulate
from typing import Final

from msgspec import Struct

from codex_mcp.mail.address import Address


class CountKind(StrEnum):
    OFFERED = "offered"
    REDELIVERED = "redelivered"
    STARTED = "started"
    READ = "read"
    HELD_BACK = "held_back"
    EXPIRED = "expired"
    FAILED = "failed"


SECONDS: Final = (0.1, 0.5, 2.0, 10.0, 60.0, 600.0, 3600.0)
"""From an idle agent to one that works for an hour."""


class Waited(Struct, frozen=True):
    """The times from the writing of messages to the beginning of their turns."""

    buckets: tuple[int, ...]
    """How many waited at most as long as each of SECONDS; the last counts all."""
    total: float
    longest: float

    @property
    def count(self) -> int:
        return self.buckets[-1]

    @property
    def described(self) -> dict[str, float]:
        return {"mean": round(self.total / self.count, 3), "longest": round(self.longest, 3)} if self.count else {}


class MailCounts:
    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str, CountKind]] = Counter()
        self._waits: dict[tuple[str, str], list[float]] = {}
        self._held: dict[Address, frozenset[str]] = {}

    def add(self, to: Address, principal: str, kind: CountKind, number: int) -> None:
        self._counts[to.team, principal, kind] += number

    def held(self, to: Address, principal: str, ids: Iterable[str]) -> None:
        """These messages are held back now; those that were so before are counted already."""
        now = frozenset(ids)
        self.add(to, principal, CountKind.HELD_BACK, len(now - self._held.get(to, frozenset())))
        self._held[to] = now
        if not now:
            del self._held[to]

    def waited(self, to: Address, principal: str, seconds: float) -> None:
        """A message has waited this long. Sums, the longest, and a count for each of SECONDS are kept."""
        kept = self._waits.setdefault((to.team, principal), [0.0, 0.0, *[0.0] * (len(SECONDS) + 1)])
        passed = max(0.0, seconds)  # clocks of other programs may be ahead
        kept[0] += passed
        kept[1] = max(kept[1], passed)
        kept[2 + bisect_left(SECONDS, passed)] += 1

    def of(self, principal: str) -> dict[str, object]:
        """What became of the mail of one principal's agents, in all teams."""
        found = {kind.value: self._sum(kind, principal=principal) for kind in CountKind}
        waits = [kept for (_, owner), kept in self._waits.items() if owner == principal]
        return {**found, "seconds_to_turn": _waited(waits).described}

    def all(self) -> dict[str, object]:
        """The same of everybody's mail."""
        found = {kind.value: self._sum(kind) for kind in CountKind}
        return {**found, "seconds_to_turn": _waited(list(self._waits.values())).described}

    @property
    def teams(self) -> list[str]:
        return sorted({team for team, _, _ in self._counts})

    def total(self, team: str, kind: CountKind) -> int:
        return self._sum(kind, team=team)

    def waits(self, team: str) -> Waited:
        return _waited([kept for (each, _), kept in self._waits.items() if each == team])

    def _sum(self, kind: CountKind, *, team: str | None = None, principal: str | None = None) -> int:
        return sum(
            count
            for (each, owner, found), count in self._counts.items()
            if found is kind and team in (None, each) and principal in (None, owner)
        )


def _waited(kept: list[list[float]]) -> Waited:
    counts = [int(sum(each[2 + place] for each in kept)) for place in range(len(SECONDS) + 1)]
    longest = max((each[1] for each in kept), default=0.0)
    return Waited(tuple(accumulate(counts)), sum(each[0] for each in kept), longest)
