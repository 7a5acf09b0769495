"""Pure. Authentication of connections: by one capability token, or by tokens signed with a shared secret (JWT).

Refusals have fixed texts, and comparisons take constant time. Signed tokens are accepted as by Codex's own exec-server.
PyJWT is not used because its import costs 90 ms and 21 MB at every start.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
from typing import Final

from msgspec import Struct

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
"""Longer tokens do not fit into a request header anyway."""


class _Refused(Exception):
    pass


def _bearer(header: str | None) -> str:
    if header is None:
        raise _Refused(MISSING)
    found = BEARER.fullmatch(header)
    if found is None:
        raise _Refused(BAD_HEADER)
    return found[1]


class CapabilityToken(Struct, frozen=True):
    """One secret token; only its hash is kept."""

    sha256: str

    @staticmethod
    def hash_of(token: bytes) -> str:
        return hashlib.sha256(token).hexdigest()

    def refusal(self, header: str | None) -> str | None:
        """Why an Authorization header is refused; None if it is accepted."""
        try:
            token = _bearer(header)
        except _Refused as exc:
            return str(exc)
        given = self.hash_of(token.encode("utf-8", "surrogateescape"))
        return None if hmac.compare_digest(given, self.sha256) else BAD_TOKEN


class SignedToken(Struct, frozen=True):
    """Tokens (JWT, HS256) signed with a shared secret, valid for a limited time."""

    secret: bytes
    issuer: str | None
    audience: str | None
    clock_skew: float

    def refusal(self, header: str | None, now: float) -> str | None:
        try:
            self._check(_claims(_bearer(header), self.secret), now)
        except _Refused as exc:
            return str(exc)
        return None

    def _check(self, claims: dict[str, object], now: float) -> None:
        expires, starts = _time(claims.get("exp")), claims.get("nbf")
        if now > expires + self.clock_skew:
            raise _Refused(EXPIRED)
        if starts is not None and now < _time(starts) - self.clock_skew:
            raise _Refused(TOO_EARLY)
        if self.issuer is not None and claims.get("iss") != self.issuer:
            raise _Refused(WRONG_ISSUER)
        claimed = claims.get("aud")
        if self.audience is not None and self.audience not in (claimed if isinstance(claimed, list) else [claimed]):
            raise _Refused(WRONG_AUDIENCE)


def _time(value: object) -> int:
    """Whole seconds, as a signed 64-bit number."""
    if not isinstance(value, int) or isinstance(value, bool) or not -(2**63) <= value < 2**63:
        raise _Refused(BAD_JWT)
    return value


def _check_texts(head: dict[str, object], claims: dict[str, object]) -> None:
    """Claims must have the right type, whether they are checked or not."""
    audience = claims.get("aud")
    texts = [head.get("typ"), head.get("kid"), claims.get("iss")]
    texts += audience if isinstance(audience, list) else [audience]
    if not all(text is None or isinstance(text, str) for text in texts):
        raise _Refused(BAD_JWT)
    if claims.get("nbf") is not None:
        _time(claims["nbf"])


def _claims(token: str, secret: bytes) -> dict[str, object]:
    parts = token.split(".")
    if len(parts) != 3 or len(token) > MAX_TOKEN or not token.isascii():
        raise _Refused(BAD_JWT)
    head, body, signature = (_decoded(part) for part in parts)
    signed = f"{parts[0]}.{parts[1]}".encode()
    # The signature first: nothing else of an unsigned token is parsed.
    if not hmac.compare_digest(hmac.digest(secret, signed, "sha256"), signature):
        raise _Refused(BAD_JWT)
    header, claims = _object(head), _object(body)
    if header.get("alg") != "HS256":
        raise _Refused(BAD_JWT)
    _check_texts(header, claims)
    return claims


def _decoded(part: str) -> bytes:
    try:
        data = base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise _Refused(BAD_JWT) from None
    # Only the canonical encoding: no padding, no stray bits.
    if base64.urlsafe_b64encode(data).rstrip(b"=").decode() != part:
        raise _Refused(BAD_JWT)
    return data


def _object(data: bytes) -> dict[str, object]:
    try:
        value = json.loads(data, object_pairs_hook=_each_once, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise _Refused(BAD_JWT) from None
    if not isinstance(value, dict):
        raise _Refused(BAD_JWT)
    return value


def _each_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("duplicate name")
    return found


def _no_number(text: str) -> object:
    raise ValueError(f"{text} is not JSON")
