"""Pure. Who may come in: by the name they call us, by the page they come from, and by the token they show.

Host      must be a name of ours: else a page of somebody else's could reach us under its own name (DNS rebinding)
Origin    must be absent, on this machine, or on the list: else it is a page of somebody else's
token     must belong to a principal, if there are any tokens
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1", "[::1]"})

HOST: Final = re.compile(r"(\[[^\[\]]*\]|[^\[\]:,\s]*)(?::\d*)?")


class Gate(Struct, frozen=True):
    """The rules of one server."""

    hosts: frozenset[str] = LOOPBACK
    """Names by which we may be called."""
    origins: frozenset[str] = frozenset()
    """Pages elsewhere that may call us, as `https://host:port`."""
    tokens: dict[bytes, str] = {}
    """SHA-256 of a token → the principal that it belongs to. Empty: nobody has to show one."""


class Admitted(Struct, frozen=True):
    """Come in."""

    principal: str


class Rejected(Struct, frozen=True):
    """Stay out. The text tells the caller what to do, and nothing about others."""

    status: int
    why: str


def admitted(gate: Gate, headers: Mapping[str, str], nobody: str) -> Admitted | Rejected:
    """May this request come in, and as whom? `nobody` is the principal where no tokens are needed."""
    if _host_name(headers.get("host", "")) not in gate.hosts:
        return Rejected(421, "Misdirected Request: this server is not known by that name (Host)")
    origin = headers.get("origin")
    if origin is not None and origin not in gate.origins and _page_host(origin) not in LOOPBACK:
        return Rejected(403, "Forbidden: pages of this origin may not use this server")
    if not gate.tokens:
        return Admitted(nobody)
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token:
        return Rejected(401, "Unauthorized: send the header Authorization: Bearer TOKEN")
    principal = _principal(gate.tokens, token.strip())
    return Rejected(401, "Unauthorized: this token is not known here") if principal is None else Admitted(principal)


def _principal(tokens: Mapping[bytes, str], token: str) -> str | None:
    """Every token is compared, so that the time taken says nothing about which one came close."""
    shown = hashlib.sha256(token.encode()).digest()
    found = None
    for known, principal in tokens.items():
        if hmac.compare_digest(known, shown):
            found = principal
    return found


def _host_name(host: str) -> str:
    """The name in a Host header, without its port; names are the same in capitals. Empty if it is no single name."""
    found = HOST.fullmatch(host)
    return "" if found is None else found[1].strip("[]").lower()


def _page_host(origin: str) -> str | None:
    try:
        return urlsplit(origin).hostname
    except ValueError:
        return None
