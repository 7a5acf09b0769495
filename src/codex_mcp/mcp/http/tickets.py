"""Pure. Session ids that say who they belong to: signed, so that a restarted server can take up its clients again.

The id carries what the client said at the handshake. It is no secret to the client, and nobody else can make one.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.mcp.seal import BrokenSeal, seal, unseal

PURPOSE = "session"


LONG: Final = 64
"""Characters of a principal, beyond which a ticket holds its hash: the id travels with every request."""


class Ticket(Struct, frozen=True):
    """What a session id holds."""

    serial: str
    principal: str
    issued: float
    client_name: str = ""
    client_version: str = ""
    elicitation: dict[str, object] | None = None


def written(key: bytes, ticket: Ticket) -> str:
    """The session id."""
    return seal(key, PURPOSE, replace(ticket, principal=_short(ticket.principal)))


def read(key: bytes, session_id: str, *, principal: str, now: float, lifetime: float) -> Ticket | None:
    """The ticket, if it is ours, of this principal, and not too old."""
    try:
        ticket = unseal(key, PURPOSE, session_id, Ticket)
    except BrokenSeal:
        return None
    if ticket.principal != _short(principal) or not 0 <= now - ticket.issued <= lifetime:
        return None
    return ticket


def _short(principal: str) -> str:
    if len(principal) <= LONG and principal.isascii():
        return principal
    return f"sha256:{sha256(principal.encode()).hexdigest()}"
