"""Pure. Which HTTP sessions to close when the limit is reached: first those without messages, then idle ones.

    rank   a session whose client                            closed first among these
    ----   -----------------------------------------------   --------------------------------------------------------
    0      never sent a message and does not listen          the one unused for longest
    1      sent messages, and has not for a while            of the principal with the most sessions: unused for longest
    2      never sent a message but listens                  the one unused for longest
    -      runs a call, has an open stream, or was active    never

The client of an idle session loses nothing: when it returns, its session is restored from its id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Protocol, TypeVar


class Evictable(Protocol):
    @property
    def principal(self) -> str:
        """Its owner."""

    @property
    def spoke(self) -> bool:
        """Its client has sent a message."""

    @property
    def busy(self) -> bool:
        """It runs a call, or a connection reads one of its streams."""

    @property
    def used_at(self) -> float:
        """When its client last sent a message, or opened it."""


S = TypeVar("S", bound=Evictable)


def to_evict(sessions: Iterable[S], count: int, idle_since: float) -> list[S]:
    """At most `count` sessions to close, in this order; none if all are in use.

    A session that sent messages must have been idle since `idle_since`.
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
