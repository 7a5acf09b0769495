"""Pure. Who may connect: the bearer of a token that we know, or of one that somebody signed who knows our secret.

Refusals have fixed texts, and comparisons take the same time wherever the difference is.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
from dataclasses import dataclass
from typing import Final

MISSING: Final = "missing websocket bearer token"
BAD_HEADER: Final = "invalid authorization header"
BAD_TOKEN: Final = "invalid websocket bearer token"
BAD_JWT: Final = "invalid websocket jwt"
EXPIRED: Final = "expired websocket jwt"
TOO_EARLY: Final = "websocket jwt is not valid yet"
WRONG_ISSUER: Final = "websocket jwt issuer mismatch"
WRONG_AUDIENCE: Final = "websocket jwt audience mismatch"

BEARER: Final = re.compile(r"bearer +(\S+) *", re.IGNORECASE)

MAX_TOKEN: Final = 16 * 1024
"""Longer ones do not fit into the header of a request anyway."""


class _Refused(Exception):
    pass


def _bearer(header: str | None) -> str:
    if header is None:
        raise _Refused(MISSING)
    found = BEARER.fullmatch(header)
    if found is None:
        raise _Refused(BAD_HEADER)
    return found[1]


@dataclass(frozen=True, slots=True)
class CapabilityToken:
    """One secret token; only its hash is kept."""

    sha256: str

    @staticmethod
    def hash_of(token: bytes) -> str:
        """The hash of a token."""
        return hashlib.sha256(token).hexdigest()

    def refusal(self, header: str | None) -> str | None:
        """Why this Authorization header does not do; None if it does."""
        try:
            token = _bearer(header)
        except _Refused as exc:
            return str(exc)
        given = self.hash_of(token.encode("utf-8", "surrogateescape"))
        return None if hmac.compare_digest(given, self.sha256) else BAD_TOKEN


@dataclass(frozen=True, slots=True)
class SignedToken:
    """Tokens (JWT, HS256) that were signed with a shared secret, for a limited time."""

    secret: bytes
    issuer: str | None
    audience: str | None
    clock_skew: float

    def refusal(self, header: str | None, now: float) -> str | None:
        """Why this Authorization header does not do; None if it does."""
        try:
            self._check(_claims(_bearer(header), self.secret), now)
        except _Refused as exc:
            return str(exc)
        return None

    def _check(self, claims: dict[str, object], now: float) -> None:
        expires = claims.get("exp")
        if not _is_time(expires):
            raise _Refused(BAD_JWT)
        if now > float(str(expires)) + self.clock_skew:
            raise _Refused(EXPIRED)
        starts = claims.get("nbf")
        if starts is not None:
            if not _is_time(starts):
                raise _Refused(BAD_JWT)
            if now < float(str(starts)) - self.clock_skew:
                raise _Refused(TOO_EARLY)
        if self.issuer is not None and claims.get("iss") != self.issuer:
            raise _Refused(WRONG_ISSUER)
        if self.audience is not None and not _is_for(claims.get("aud"), self.audience):
            raise _Refused(WRONG_AUDIENCE)


def _is_time(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_for(claimed: object, audience: str) -> bool:
    return claimed == audience or (isinstance(claimed, list) and audience in claimed)


def _claims(token: str, secret: bytes) -> dict[str, object]:
    parts = token.split(".")
    if len(parts) != 3 or len(token) > MAX_TOKEN or not token.isascii():
        raise _Refused(BAD_JWT)
    head, body, signature = (_decoded(part) for part in parts)
    signed = f"{parts[0]}.{parts[1]}".encode()
    # The signature first: nothing of an unsigned token is looked at.
    if not hmac.compare_digest(hmac.digest(secret, signed, "sha256"), signature):
        raise _Refused(BAD_JWT)
    if _object(head).get("alg") != "HS256":
        raise _Refused(BAD_JWT)
    return _object(body)


def _decoded(part: str) -> bytes:
    try:
        return base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise _Refused(BAD_JWT) from None


def _object(data: bytes) -> dict[str, object]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise _Refused(BAD_JWT) from None
    if not isinstance(value, dict):
        raise _Refused(BAD_JWT)
    return value
