"""Pure. The tokens that each turn of a thread has used, computed from the totals that the core reports.

The core reports the thread's total and the usage of its newest request to the model. It repeats them unchanged when a
turn is stopped or a thread is resumed, and after a compaction with the size of the conversation as the newest usage. So
only the growth of the total counts.

    total            counts as used
    ---------------  -----------------------------------------------------
    the first one    the newest usage: the earlier total is unknown
    higher           the difference
    the same         nothing
    lower            the newest usage: the core has restarted its count

The core takes the usage of dropped turns off the total. So the first total after that counts like the first of all,
unless it is the one before the first of these turns: if the next turn begins with a compaction, the core repeats it.

Each growth is one request. If it is more than the newest one has used, the count of one before was lost on the way.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from msgspec.structs import replace

from codex_mcp.codex.facts import Tokens, TokensCounted, TurnStarted

NONE = Tokens()

TURNS_KEPT: Final = 256
"""The latest turns, with the total before each. If more of them are dropped, the newest usage may be counted twice."""


class TokenMeter:
    """Follows the total of one thread over all its turns and cores."""

    def __init__(self) -> None:
        self._total: Tokens | None = None
        self._before: OrderedDict[str, Tokens | None] = OrderedDict()
        """The total before each of the latest turns."""
        self._dropped_to: Tokens | None = None
        self._rejoined = ""
        """The turn of the next count, which the core reports for the turn before it."""

    @property
    def total(self) -> Tokens | None:
        """The newest; None if it is not known."""
        return self._total

    def begin_at(self, total: Tokens | None, turn_id: str) -> None:
        """What an earlier server knew of the total before this turn: what is counted next was used in this turn."""
        self._total, self._rejoined = total or NONE, turn_id

    def turns_dropped(self, first_id: str) -> None:
        """This turn and those after it."""
        self._dropped_to, self._total = self._before.get(first_id), None

    def read(self, fact: TurnStarted | TokensCounted) -> TurnStarted | TokensCounted:
        """The fact, the newest one of the thread; a count says what was used since the last one."""
        if isinstance(fact, TokensCounted):
            turn_id, self._rejoined = self._rejoined or fact.turn_id, ""
            return TokensCounted(turn_id, fact.total, self.used(fact))
        self._before[fact.turn_id] = self._total
        if len(self._before) > TURNS_KEPT:
            self._before.popitem(last=False)
        return fact

    def used(self, counted: TokensCounted) -> Tokens:
        before, self._total = self._total, counted.total
        dropped_to, self._dropped_to = self._dropped_to, None
        if before is None:
            return NONE if counted.total == dropped_to else _requested(counted.last, counted.last)
        if counted.total.total_tokens < before.total_tokens:
            return _requested(counted.last, counted.last)
        return _requested(difference(counted.total, before), counted.last)


def _requested(used: Tokens, newest: Tokens) -> Tokens:
    """With the number of requests."""
    if used == NONE:
        return used
    return replace(used, requests=2 if used.total_tokens > newest.total_tokens else 1)


def difference(now: Tokens, before: Tokens) -> Tokens:
    return Tokens(*(max(0, more - less) for more, less in zip(_counts(now), _counts(before), strict=True)))


def added(one: Tokens | None, other: Tokens) -> Tokens | None:
    """The sum; None while nothing was used."""
    if other == NONE:
        return one
    if one is None:
        return other
    return Tokens(*(each + more for each, more in zip(_counts(one), _counts(other), strict=True)))


def _counts(tokens: Tokens) -> tuple[int, ...]:
    return tuple(getattr(tokens, name) for name in tokens.__struct_fields__)
