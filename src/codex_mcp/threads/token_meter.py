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

The core takes the usage of dropped turns off the total. So the first total after that counts like the first of all.
"""

from __future__ import annotations

from codex_mcp.codex.facts import Tokens, TokensCounted

NONE = Tokens()


class TokenMeter:
    """Follows the total of one thread over all its turns and cores."""

    def __init__(self) -> None:
        self._total: Tokens | None = None

    def turns_dropped(self) -> None:
        self._total = None

    def used(self, counted: TokensCounted) -> Tokens:
        before, self._total = self._total, counted.total
        if before is None or counted.total.total_tokens < before.total_tokens:
            return counted.last
        return difference(counted.total, before)


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
