"""Pure. Principals: the clients that a server tells apart."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

LOCAL: Final = "local"
"""The principal of clients that need no token: over stdio, or over HTTP on a server without tokens."""

PERSON: Final = "human"
"""The name under which the user of this machine writes and reads mail without saying another; atm has the same."""

_MARK: Final = "\x1f"
"""Between a principal and its session. No principal's name has it: names in a token file have no white space, of which
it is a kind, and those of signed tokens are printable."""


def of_session(principal: str, session_id: str) -> str:
    """The principal of what one session starts, where sessions are private."""
    return f"{principal}{_MARK}{sha256(session_id.encode()).hexdigest()[:32]}"


def account(principal: str) -> str:
    """Whom the token identifies: limits are for all sessions of a principal together."""
    return principal.partition(_MARK)[0]
