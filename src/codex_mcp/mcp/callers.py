"""Pure. The clients of a server, for `codex-mcp status`: who has a session, and who has called lately without one."""

from __future__ import annotations

from collections import Counter, OrderedDict
from typing import Final

from msgspec import Struct

from codex_mcp.wire.control import ClientOf

LATELY: Final = 3600.0
"""Seconds since its last call in which a client without a session counts as one. It may think, or ask a person."""

MOST: Final = 1_000
"""Clients without a session that are remembered. Names are chosen by clients."""

LONGEST: Final = 100
"""Characters of a name or a version."""


class WhoCalls(Struct, frozen=True):
    principal: str
    name: str
    version: str


class RecentClients:
    def __init__(self) -> None:
        self._sessions: Counter[WhoCalls] = Counter()
        self._called: OrderedDict[WhoCalls, float] = OrderedDict()
        """When each client without a session has called last."""

    def opened(self, who: WhoCalls) -> None:
        """It has one more session."""
        self._sessions[_short(who)] += 1

    def closed(self, who: WhoCalls) -> None:
        self._sessions[_short(who)] -= 1
        self._sessions += Counter()

    def called(self, who: WhoCalls, now: float) -> None:
        """It has called a tool without a session."""
        who = _short(who)
        self._called[who] = now
        self._called.move_to_end(who)
        if len(self._called) > MOST:
            self._called.popitem(last=False)

    def seen(self, principal: str | None, now: float) -> list[ClientOf]:
        """Those of a principal, or of all. A client that calls without a session counts once."""
        found = Counter({who: 1 for who, at in self._called.items() if now - at < LATELY})
        found |= self._sessions
        mine = [(who, count) for who, count in found.items() if principal in (None, who.principal)]
        return [ClientOf(who.name, who.version, who.principal, count) for who, count in mine]


def _short(who: WhoCalls) -> WhoCalls:
    return WhoCalls(who.principal, who.name[:LONGEST], who.version[:LONGEST])
