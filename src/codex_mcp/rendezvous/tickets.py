"""Pure. What the rendezvous signs and gets back: in URLs, and in a harness's authorization.

A registration is in the URL of the executor's socket, so that it survives a restart of the rendezvous.
"""

from __future__ import annotations

from typing import Final, TypeVar

from msgspec import Struct

from codex_mcp.access.seal import seal, unseal
from codex_mcp.relay.keys import PublicKeyObject

EXECUTOR: Final = "rendezvous executor"
HARNESS: Final = "rendezvous harness"
AUTHORIZATION: Final = "rendezvous authorization"

TICKET_SECONDS: Final = 60.0
"""Until a harness has to open its socket. It does so at once."""

AUTHORIZATION_SECONDS: Final = 120.0
"""Until an executor has to ask about it: a handshake follows the socket, and the executor may be slow."""


class Registration(Struct, frozen=True):
    id: str
    environment_id: str
    principal: str
    key: PublicKeyObject
    name: str
    at: float
    """Seconds since 1970."""


class HarnessTicket(Struct, frozen=True):
    """Lets one harness open a socket to one registration."""

    registration_id: str
    environment_id: str
    principal: str
    fingerprint: str
    expires: float


class Authorization(Struct, frozen=True):
    """Tells an executor that this harness key may use this registration."""

    registration_id: str
    environment_id: str
    fingerprint: str
    expires: float


Signed = TypeVar("Signed", Registration, HarnessTicket, Authorization)

PURPOSES: Final[dict[type, str]] = {Registration: EXECUTOR, HarnessTicket: HARNESS, Authorization: AUTHORIZATION}


def signed(key: bytes, value: Registration | HarnessTicket | Authorization) -> str:
    return seal(key, PURPOSES[type(value)], value)


def read_signed(key: bytes, text: str, kind: type[Signed]) -> Signed | None:
    """The value; None if this rendezvous did not sign it."""
    return unseal(key, PURPOSES[kind], text, kind)
