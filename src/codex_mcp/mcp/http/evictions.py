"""Pure. Which HTTP sessions give way when no more fit: first those that never sent a message, then idle ones.

    rank   a session that                                   of these, first
    ----   ----------------------------------------------   ---------------------------------------------------------
    0      never sent a message, and nobody listens to it   the one unused for longest
    1      sent messages, and was not used for a while      of the principal with the most sessions: unused for longest
    2      never sent a message, but somebody listens       the one unused for longest
    -      runs a call, has an open stream, or was used     never

An idle session that gives way loses nothing that its client needs: its id is taken up again when it comes back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Protocol, TypeVar


class Evictable(Protocol):
    """What decides about a session."""

    @property
    def principal(self) -> str:
        """To whom it belongs."""

    @property
    def spoke(self) -> bool:
        """Its client has sent a message."""

    @property
    def busy(self) -> bool:
        """It runs a call, or somebody reads a stream of it."""

    @property
    def used_at(self) -> float:
        """When its client last sent something, or opened it."""


S = TypeVar("S", bound=Evictable)


def to_evict(sessions: Iterable[S], count: int, idle_since: float) -> list[S]:
    """At most this many sessions that give way, in this order; none if every one is in use.

    One that sent messages must have been idle since this moment.
    """
    sessions = list(sessions)
    sizes = Counter(session.principal for session in sessions)
    ranked: list[tuple[int, int, float, int]] = []
    for index, session in enumerate(sessions):
        if not session.spoke:
            ranked.append((2 if session.busy else 0, 0, session.used_at, index))
        elif not session.busy and session.used_at <= idle_since:
            ranked.append((1, -sizes[session.principal], session.used_at, index))
    return [sessions[index] for *_, index in sorted(ranked)[:count]]
