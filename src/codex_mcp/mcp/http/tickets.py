"""Pure. Signed session ids that name their owner, so that a restarted server can restore its sessions.

The id contains what the client sent with the handshake. The client may read it, but only the server can create one.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.access.seal import seal, unseal
from codex_mcp.mcp.known_clients import EVENTS_CAPABILITY

PURPOSE = "session"

SKEW: Final = 24 * 3600.0
"""Seconds by which the clock of the server that made a ticket may be ahead of ours: a wrong clock on one machine of a
cluster must not end sessions."""

LONG: Final = 64
"""Characters of a principal beyond which a ticket contains its hash: the id is sent with every request."""


class SessionTicket(Struct, frozen=True):
    serial: str
    principal: str
    issued: float
    client_name: str = ""
    client_version: str = ""
    elicitation: dict[str, object] | None = None
    revision: str = ""
    has_roots: bool = False
    takes_events: bool = False
    """It has asked for `codex/event` notifications."""

    @property
    def capabilities(self) -> dict[str, object]:
        """Those of the client that the server makes use of."""
        declared: dict[str, object] = {
            "elicitation": self.elicitation,
            "roots": {} if self.has_roots else None,
            "experimental": {EVENTS_CAPABILITY: {}} if self.takes_events else None,
        }
        return {name: value for name, value in declared.items() if value is not None}


def written(key: bytes, ticket: SessionTicket) -> str:
    return seal(key, PURPOSE, replace(ticket, principal=_short(ticket.principal)))


def read(key: bytes, session_id: str, *, principal: str, now: float, lifetime: float) -> SessionTicket | None:
    """The ticket in a session id, if this server signed it, for this principal, and not too long ago."""
    ticket = unseal(key, PURPOSE, session_id, SessionTicket)
    if ticket is None or ticket.principal != _short(principal) or not -SKEW <= now - ticket.issued <= lifetime:
        return None
    return ticket


def _short(principal: str) -> str:
    if len(principal) <= LONG and principal.isascii():
        return principal
    return f"sha256:{sha256(principal.encode()).hexdigest()}"
