"""Decides which requests are let in, and as which principal: checks bearer tokens from a file and signed tokens (JWT).

Both files are read again when they change.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from codex_mcp.access.gate import (
    DECISIVE_HEADERS,
    INVALID_TOKEN,
    LOOPBACK,
    NO_TOKEN,
    Admitted,
    Gate,
    Rejected,
    administrators,
    bearer_token,
    parse_tokens,
    why_not_a_principal,
)
from codex_mcp.access.logins import Logins
from codex_mcp.access.server_secrets import own_token
from codex_mcp.access.token_files import WatchedFile, read_tokens
from codex_mcp.base.errors import BadSetting
from codex_mcp.base.files import read_regular
from codex_mcp.base.principals import LOCAL
from codex_mcp.base.settings.http import HttpSettings

logger = logging.getLogger(__name__)

CHECK_INTERVAL: Final = 1.0
"""Seconds between two checks of the files, during which verdicts are remembered: a token or key that is removed, or a
token that expires, stops working a second later."""

REMEMBERED: Final = 4096
"""Verdicts. Beyond that, further requests are checked every time."""

CLOCK_SKEW: Final = 30
"""Seconds by which our clock and the issuer's may differ."""

ALGORITHMS: Final = ("RS256", "RS384", "RS512", "ES256", "ES384", "PS256", "EdDSA")
"""Public keys only: with a shared secret, anyone who can check a token can also make one."""


class AccessControl:
    def __init__(self, settings: HttpSettings, codex_home: str) -> None:
        self._settings = settings
        self._gate = Gate(
            hosts=LOOPBACK | {settings.host} | frozenset(settings.allowed_hosts),
            origins=frozenset(settings.allowed_origins),
        )
        self.generation = 0
        """Grows whenever a file of tokens or keys is read: earlier verdicts must be checked again."""
        self._checked_at = 0.0
        self._logins = Logins()
        self._remembered: dict[tuple[str | None, ...], Admitted] = {}
        self._own: dict[bytes, str] = {}
        self._administrators: frozenset[str] = frozenset()
        if settings.generate_token:
            self._own = {hashlib.sha256(own_token(codex_home).encode()).digest(): LOCAL}
            self._gate = msgspec.structs.replace(self._gate, tokens=self._own)
        self._jwt: Any = None
        self._keys: Mapping[str, Any] = {}
        readers = ((settings.tokens, self._read_tokens), (settings.jwks, self._read_jwks))
        self._files = [WatchedFile(path, read) for path, read in readers if path is not None]
        self.open_to_all = settings.tokens is None and settings.jwks is None and not self._own

    def administers(self, principal: str) -> bool:
        """Whether a principal may change the server for everyone. The generated token is that of the server's user."""
        self.refresh()
        return bool(self._own) if principal == LOCAL else principal in self._administrators

    @property
    def hosts(self) -> frozenset[str]:
        """The names of this server."""
        return self._gate.hosts

    @property
    def origins(self) -> frozenset[str]:
        return self._gate.origins

    @property
    def authorization_servers(self) -> list[str]:
        return [self._settings.jwt_issuer] if self._settings.jwks and self._settings.jwt_issuer else []

    def admit(self, headers: Mapping[str, str], address: str = "") -> Admitted | Rejected:
        self.refresh()
        key = tuple([headers.get(name) for name in DECISIVE_HEADERS])
        known = self._remembered.get(key)
        if known is not None:
            return known
        verdict = self._judge(headers, address)
        if isinstance(verdict, Admitted) and len(self._remembered) < REMEMBERED:
            self._remembered[key] = verdict
        return verdict

    def _judge(self, headers: Mapping[str, str], address: str) -> Admitted | Rejected:
        rejected = self._gate.rejection(headers)
        if rejected is not None:
            return rejected
        if self.open_to_all:
            return Admitted(LOCAL)
        token = bearer_token(headers)
        if token is None:
            return NO_TOKEN
        if self._settings.jwks is not None and token.count(".") == 2:
            return self._logins.verdict(token, address, lambda _: self._judge_signed(token))
        return self._logins.verdict(token, address, self._gate.principal)

    def _judge_signed(self, token: str) -> Admitted | Rejected:
        try:
            key = self._keys.get(self._jwt.get_unverified_header(token).get("kid", ""))
            if key is None:
                return INVALID_TOKEN
            claims = self._jwt.decode(
                token,
                key,
                algorithms=list(ALGORITHMS),
                audience=self._settings.jwt_audience,
                issuer=self._settings.jwt_issuer,
                leeway=CLOCK_SKEW,
                options={"require": ["exp", "sub"]},
            )
        except self._jwt.PyJWTError as exc:
            logger.info("a signed token was refused: %s", type(exc).__name__)
            return INVALID_TOKEN
        why = why_not_a_principal(claims["sub"])
        if why:
            logger.info("a signed token was refused: its sub %s", why)
            return Rejected(401, f"Unauthorized: the sub of this token {why}")
        return Admitted(claims["sub"], float(claims["exp"]) + CLOCK_SKEW)

    def refresh(self) -> None:
        """Read the files that have changed, unless they were checked a moment ago."""
        now = time.monotonic()
        if now - self._checked_at < CHECK_INTERVAL:
            return
        self._checked_at = now
        self._remembered.clear()
        for file in self._files:
            self.generation += file.refresh()

    def _read_tokens(self, path: str) -> None:
        tokens, self._administrators = read_tokens(path, lambda text: (parse_tokens(text), administrators(text)))
        self._gate = msgspec.structs.replace(self._gate, tokens=tokens | self._own)

    def _read_jwks(self, path: str) -> None:
        import jwt  # noqa: PLC0415  only a server that accepts signed tokens needs it

        try:
            text = read_regular(path).decode()
            # While serving, a list without keys removes all of them; at the start it is a mistake.
            is_empty = self._jwt is not None and msgspec.json.decode(text) == {"keys": []}
            keys = [] if is_empty else jwt.PyJWKSet.from_json(text).keys
        except (OSError, ValueError, AttributeError, TypeError, jwt.PyJWTError) as exc:  # the file may hold anything
            raise BadSetting(f"cannot use the key file {path}: {exc}") from exc
        named = {key.key_id: key for key in keys if key.key_id}
        if not named and not is_empty:
            raise BadSetting(f"cannot use the key file {path}: none of its keys has a name (kid)")
        self._jwt, self._keys = jwt, named
