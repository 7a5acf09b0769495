"""Pure. Who may come in: by the name they call us, by the page they come from, and by the token they show.

Host            must be a name of ours: else a page of somebody else's could reach us under its own name (DNS rebinding)
Origin          must be absent, our own, or on the list of allowed origins; a page on another port is another origin
Sec-Fetch-Site  must be absent, `none` or `same-origin`, unless the origin is on the list: browsers send a plain GET
                of another site without an Origin, but never without this header
token           must belong to a principal, if there are any tokens
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1", "[::1]"})

OWN_SITE: Final = frozenset({None, "none", "same-origin"})
"""Values of Sec-Fetch-Site that a request may have: no browser, a person's own navigation, a page of ours."""

DEFAULT_PORTS: Final = {"http": ":80", "https": ":443"}

CROSS_SITE: Final = "Forbidden: pages of another site may not use this server (Sec-Fetch-Site); see allowed_origins"
FOREIGN_PAGE: Final = "Forbidden: pages of this origin may not use this server; see allowed_origins"

HOST: Final = re.compile(r"(\[[^\[\]]*\]|[^\[\]:,\s]*)(?::\d*)?")


JUDGED: Final = ("host", "origin", "sec-fetch-site", "authorization")
"""The headers that decide: two requests with the same ones get the same answer."""


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
    expires: float | None = None
    """When that ends, in seconds since 1970, if it does."""


class Rejected(Struct, frozen=True):
    """Stay out. The text tells the caller what to do, and nothing about others."""

    status: int
    why: str


NO_TOKEN: Final = Rejected(401, "Unauthorized: send the header Authorization: Bearer TOKEN")
UNKNOWN_TOKEN: Final = Rejected(401, "Unauthorized: this token is not known here")
TOO_MANY_FAILURES: Final = Rejected(429, "Too Many Requests: too many tokens that are not valid; try again in a second")


def admitted(gate: Gate, headers: Mapping[str, str], nobody: str) -> Admitted | Rejected:
    """May this request come in, and as whom? `nobody` is the principal where no tokens are needed."""
    rejected = rejected_request(gate, headers)
    if rejected is not None:
        return rejected
    if not gate.tokens:
        return Admitted(nobody)
    token = bearer_token(headers)
    if token is None:
        return NO_TOKEN
    principal = principal_of(gate.tokens, hashlib.sha256(token.encode()).digest())
    return UNKNOWN_TOKEN if principal is None else Admitted(principal)


def rejected_request(gate: Gate, headers: Mapping[str, str]) -> Rejected | None:
    """Why this request may not come in, whatever token it shows."""
    if _host_name(headers.get("host", "")) not in gate.hosts:
        return Rejected(421, "Misdirected Request: this server is not known by that name (Host)")
    forbidden = forbidden_page(gate.origins, headers)
    return Rejected(403, forbidden) if forbidden else None


def bearer_token(headers: Mapping[str, str]) -> str | None:
    """The token that a request shows."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" and token else None


def forbidden_page(origins: frozenset[str], headers: Mapping[str, str]) -> str:
    """Why the web page that makes this request may not; empty if it may, or if no page makes it."""
    origin = headers.get("origin")
    if origin is not None:
        if origin in origins:
            return ""
        if not _is_same_origin(origin, headers.get("host", "")):
            return FOREIGN_PAGE
    return "" if headers.get("sec-fetch-site") in OWN_SITE else CROSS_SITE


def _is_same_origin(origin: str, host: str) -> bool:
    """Does the page come from the address that the request goes to? Its scheme may be that of a proxy before us."""
    scheme, separator, address = origin.lower().partition("://")
    port = DEFAULT_PORTS.get(scheme)
    if not separator or port is None or not address:
        return False
    return address.removesuffix(port) == host.lower().removesuffix(port)


def principal_of(tokens: Mapping[bytes, str], shown: bytes) -> str | None:
    """Whose token has this hash. All are compared, so that the time taken says nothing about which one came close."""
    found = None
    for known, principal in tokens.items():
        if hmac.compare_digest(known, shown):
            found = principal
    return found


def _host_name(host: str) -> str:
    """The name in a Host header, without its port; names are the same in capitals. Empty if it is no single name."""
    found = HOST.fullmatch(host)
    return "" if found is None else found[1].strip("[]").lower()
