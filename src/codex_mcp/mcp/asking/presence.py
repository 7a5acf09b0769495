"""Pure. Whether there is a person at a client who can be asked.

Headless clients (`claude -p`) declare elicitation and cancel every question at once. A person needs far longer to read
a question, so a cancel that comes at once means that no person is there. A later one, and every decline, is a decision.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

AT_ONCE: Final = 0.05
"""Seconds in which a program answers, on a machine that is not busy. Claude Code was measured to need 0.01 s."""

REACTION_TIME: Final = 0.25
"""Seconds that a person needs to react to anything at all. On a busy machine a program may need nearly as long: Claude
Code was measured to need up to 0.21 s where five programs waited for each processor."""

REMEMBERED: Final = 3600.0
"""Seconds for which a client without a person is not asked again. In the stateless era several programs may go by one
name, and one of them may have a person: it is asked again after this."""

MAX_CLIENTS: Final = 10_000
"""Clients that are remembered; the oldest is forgotten first, and asked once more."""


def is_unattended(answer: object, seconds: float, load: float = 0.0) -> bool:
    """Does this answer to a question, given after so many seconds, mean that no person has seen it?

    `load` is the number of programs for each processor that run or want to.
    """
    if not isinstance(answer, dict) or answer.get("action") != "cancel" or answer.get("decision") is not None:
        return False
    return 0 <= seconds <= min(AT_ONCE * max(load, 1.0), REACTION_TIME)


class Unattended:
    """The callers without a person. Times are seconds of any one clock."""

    def __init__(self, max_clients: int = MAX_CLIENTS) -> None:
        self._max_clients = max_clients
        self._until: OrderedDict[str, float] = OrderedDict()

    def add(self, caller: str, now: float) -> None:
        """No person is there now."""
        self._until[caller] = now + REMEMBERED
        self._until.move_to_end(caller)
        while len(self._until) > self._max_clients:
            self._until.popitem(last=False)

    def has(self, caller: str, now: float) -> bool:
        """Is it known that no person is there?"""
        until = self._until.get(caller)
        if until is not None and now >= until:
            del self._until[caller]
            return False
        return until is not None
