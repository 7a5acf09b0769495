"""Pure. What each turn of a thread has used up, from the totals that the core tells.

The core tells the thread's total and the usage of its newest request to the model. It tells them again, unchanged, when
a turn is stopped or a thread is resumed, and after a compaction with the size of the conversation as the newest usage.
So only what the total has grown by counts.

    total            counts as used
    ---------------  -----------------------------------------------------
    the first one    the newest usage: how much came before is not known
    higher           the difference
    the same         nothing
    lower            the newest usage: the core has begun to count anew
"""

from __future__ import annotations

from codex_mcp.codex.facts import Tokens, TokensCounted

NONE = Tokens()


class TokenMeter:
    """Follows the total of one thread, over all its turns and all the cores that run them."""

    def __init__(self) -> None:
        self._total: Tokens | None = None

    def used(self, counted: TokensCounted) -> Tokens:
        """How much was used up since the count before."""
        before, self._total = self._total, counted.total
        if before is None or counted.total.total_tokens < before.total_tokens:
            return counted.last
        return difference(counted.total, before)


def difference(now: Tokens, before: Tokens) -> Tokens:
    """How much more it is, and never less than nothing."""
    return Tokens(*(max(0, more - less) for more, less in zip(_counts(now), _counts(before), strict=True)))


def added(one: Tokens | None, other: Tokens) -> Tokens | None:
    """Both together; None as long as nothing was used."""
    if other == NONE:
        return one
    if one is None:
        return other
    return Tokens(*(each + more for each, more in zip(_counts(one), _counts(other), strict=True)))


def _counts(tokens: Tokens) -> tuple[int, ...]:
    return tuple(getattr(tokens, name) for name in tokens.__struct_fields__)
