"""Pure. When a call must return `status: running`, because its client would give up.

A client's limit is known from the table of clients, or learned from the first call that it gave up.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from msgspec import Struct

from codex_mcp.base.settings.calls import CallSettings
from codex_mcp.mcp.known_clients import known_client

USUAL_LIMITS: Final = (5, 10, 15, 20, 25, 30, 45, 60, 90, 120, 150, 180, 240, 300, 600, 900, 1200, 1800, 3600)
"""Seconds that clients and their users choose."""

LATE: Final = 0.7
"""Seconds by which we notice the end of a limit too late, at most."""

THINKING: Final = 30.0
"""Seconds that a model may take between the end of a limit and its next call."""

SHORTEST: Final = 1.0
"""Seconds below which a limit is not learned: no call could be answered before it."""

MAX_LEARNED: Final = 1_000
"""Clients whose limits are remembered. Names are chosen by clients."""


def soft_deadline_for(client_name: str, settings: CallSettings, *, has_progress_token: bool) -> float | None:
    """After how many seconds a call of this client returns `status: running`; None means never."""
    if settings.soft_deadline is not None:
        return settings.soft_deadline or None
    known = known_client(client_name)
    return known.with_progress if has_progress_token else known.without_progress


def usual_limit(seconds: float) -> float | None:
    """The limit that a client seems to have that closed its connection after so many seconds; None: it has another
    reason."""
    return next((limit for limit in USUAL_LIMITS if 0 <= seconds - limit <= LATE), None)


def silent_limit(seconds: float) -> float | None:
    """The limit to assume of a client whose model acts again so many seconds after a call that is unanswered; None: it
    cannot have given up yet."""
    if seconds < USUAL_LIMITS[0]:
        return None
    return max((limit for limit in USUAL_LIMITS if limit <= seconds - THINKING), default=USUAL_LIMITS[0])


class Whose(Struct, frozen=True):
    """Whose calls have one limit. Names are chosen by clients, so they count for their own principal alone."""

    principal: str
    client: str
    """Its name, in lower case."""
    has_progress_token: bool


class LearnedLimits:
    """How long each client was seen to wait."""

    def __init__(self) -> None:
        self._limits: OrderedDict[Whose, float] = OrderedDict()

    def gave_up(self, whose: Whose, seconds: float) -> None:
        """A client gave a call up after so many seconds."""
        if seconds >= SHORTEST:
            self._limits[whose] = min(seconds, self._limits.get(whose, seconds))
            self._limits.move_to_end(whose)
        if len(self._limits) > MAX_LEARNED:
            self._limits.popitem(last=False)

    def deadline(self, whose: Whose) -> float | None:
        """Seconds after which a call must be answered, so that the answer arrives in time; None: not learned."""
        limit = self._limits.get(whose)
        return None if limit is None else limit - min(10.0, max(0.5, limit / 5))
