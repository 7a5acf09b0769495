"""Pure. The e-mail address in the ChatGPT sign-in that Codex keeps in auth.json, read as 0.42.0 did: offline."""

from __future__ import annotations

import base64
import binascii

import msgspec
from msgspec import Struct


class _Profile(Struct, frozen=True):
    email: str | None = None


class _Claims(Struct, frozen=True):
    email: str | None = None
    profile: _Profile | None = msgspec.field(default=None, name="https://api.openai.com/profile")


class _Tokens(Struct, frozen=True):
    id_token: str = ""


class _SignIn(Struct, frozen=True):
    tokens: _Tokens | None = None


def email_in(auth_json: bytes) -> str | None:
    """The address that the id token alleges; None if the file has none or cannot be read."""
    try:
        tokens = msgspec.json.decode(auth_json, type=_SignIn).tokens
        _head, payload, _signature = (tokens or _Tokens()).id_token.split(".")
        claims = msgspec.json.decode(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)), type=_Claims)
    except (ValueError, binascii.Error, msgspec.MsgspecError, RecursionError):
        return None
    return claims.email or (claims.profile.email if claims.profile else None)
