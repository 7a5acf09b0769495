"""Pure. A node's lease, as the node itself sees it and as other nodes judge it.

| phase | renewed | taken over | overdue |
|---|---|---|---|
| joining | holding | lost | joining |
| holding | holding | lost | frozen |
| frozen | holding | lost | frozen |
| lost | lost | lost | lost |

A claim may be used while its node is holding. A node freezes 0.75 TTL after it *sent* the last successful renewal, well
before another node may treat it as dead: it is better to stop a thread than to run it twice.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

FREEZE_AT: Final = 0.75
"""Fraction of the TTL. The rest covers what a frozen node still has under way, and differences between clocks."""

BEATS_PER_TTL: Final = 6
"""With a TTL of 10 s, a renewal every 1.7 s: four may be lost before the node freezes."""


class Phase(StrEnum):
    JOINING = "joining"
    HOLDING = "holding"
    FROZEN = "frozen"
    LOST = "lost"


class Happened(StrEnum):
    RENEWED = "renewed"
    TAKEN_OVER = "taken over"
    OVERDUE = "overdue"


TABLE: Final = {
    (Phase.JOINING, Happened.RENEWED): Phase.HOLDING,
    (Phase.JOINING, Happened.TAKEN_OVER): Phase.LOST,
    (Phase.JOINING, Happened.OVERDUE): Phase.JOINING,
    (Phase.HOLDING, Happened.RENEWED): Phase.HOLDING,
    (Phase.HOLDING, Happened.TAKEN_OVER): Phase.LOST,
    (Phase.HOLDING, Happened.OVERDUE): Phase.FROZEN,
    (Phase.FROZEN, Happened.RENEWED): Phase.HOLDING,
    (Phase.FROZEN, Happened.TAKEN_OVER): Phase.LOST,
    (Phase.FROZEN, Happened.OVERDUE): Phase.FROZEN,
    (Phase.LOST, Happened.RENEWED): Phase.LOST,
    (Phase.LOST, Happened.TAKEN_OVER): Phase.LOST,
    (Phase.LOST, Happened.OVERDUE): Phase.LOST,
}


class Lease(Struct, frozen=True):
    ttl: float
    phase: Phase = Phase.JOINING
    sent_at: float = 0.0
    """When the last successful renewal was sent; its answer may have come much later."""

    def renewed(self, sent_at: float, now: float) -> Lease:
        phase = TABLE[self.phase, Happened.RENEWED]
        return replace(self, phase=phase, sent_at=max(self.sent_at, sent_at)).at(now)

    def taken_over(self) -> Lease:
        return replace(self, phase=TABLE[self.phase, Happened.TAKEN_OVER])

    def at(self, now: float) -> Lease:
        if now < self.freezes_at:
            return self
        return replace(self, phase=TABLE[self.phase, Happened.OVERDUE])

    @property
    def freezes_at(self) -> float:
        return self.sent_at + FREEZE_AT * self.ttl


class Standing(Struct, frozen=True):
    """A node's lease as the store knows it."""

    since: float
    """Since when it has been held without a gap."""
    expires: float


def joined(sent_at: float, ttl: float) -> Standing:
    return Standing(sent_at, sent_at + ttl)


def after_renewal(standing: Standing, sent_at: float, ttl: float) -> Standing:
    """The standing after a renewal. A late one starts a new period of holding; an old one never shortens the lease."""
    since = standing.since if sent_at < standing.expires else sent_at
    return Standing(since, max(standing.expires, sent_at + ttl))


def may_judge(judge: Standing | None, now: float, ttl: float) -> bool:
    """Whether a node may treat silence as death: only if it has held its own lease for a whole TTL."""
    return judge is not None and now < judge.expires and now - judge.since >= ttl
