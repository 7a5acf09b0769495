"""Keeps the gate: reads the files that say who may come in, again when they change, and checks signed tokens."""

from __future__ import annotations

import hashlib
import importlib
import logging
import os
import stat
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import msgspec

from codex_mcp.base.errors import BadSetting
from codex_mcp.base.settings.groups import Settings
from codex_mcp.mcp.http.access.failed_logins import FailedLogins
from codex_mcp.mcp.http.access.gate import (
    JUDGED,
    LOOPBACK,
    NO_TOKEN,
    TOO_MANY_FAILURES,
    UNKNOWN_TOKEN,
    Admitted,
    Gate,
    Rejected,
    bearer_token,
    principal_of,
    rejected_request,
)
from codex_mcp.mcp.http.access.own_token import own_token
from codex_mcp.mcp.http.access.tokens import parse_tokens, why_no_principal
from codex_mcp.threads.owners import LOCAL

logger = logging.getLogger(__name__)

LOOK_INTERVAL: Final = 1.0
"""Seconds between two looks at the files, for which a verdict is remembered: a token or a key that is taken away, and
one whose time is over, are gone a second later."""

REMEMBERED: Final = 4096
"""Verdicts. Whoever comes when there are as many is checked every time."""

ACCEPTED: Final = 10_000
"""Tokens, by their hash, that were valid before: they are checked even if others from their address were wrong."""

CLOCK_SKEW: Final = 30
"""Seconds by which the clocks of us and of who signs may differ."""

ALGORITHMS: Final = ("RS256", "RS384", "RS512", "ES256", "ES384", "PS256", "EdDSA")
"""Of public keys only: with a shared secret, whoever can check a token could make one."""


FileState: TypeAlias = tuple[int, int, int]
"""What changes with a file."""


class Doorkeeper:
    """Who may come in, by the settings of this server."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._gate = Gate(
            hosts=LOOPBACK | {settings.host} | frozenset(settings.allowed_hosts),
            origins=frozenset(settings.allowed_origins),
        )
        self.generation = 0
        """Grows whenever a file of tokens or keys is read: what was decided before must be decided again."""
        self._states: dict[str, FileState] = {}
        self._looked_at = 0.0
        self._accepted: OrderedDict[bytes, None] = OrderedDict()
        self._failed = FailedLogins()
        self._remembered: dict[tuple[str | None, ...], Admitted] = {}
        self._own: dict[bytes, str] = {}
        if settings.generate_token:
            self._own = {hashlib.sha256(own_token(settings.codex_home).encode()).digest(): LOCAL}
            self._gate = msgspec.structs.replace(self._gate, tokens=self._own)
        self._jwt: Any = None
        self._keys: Mapping[str, Any] = {}
        if settings.tokens is not None:
            self._read_tokens(settings.tokens)
        if settings.jwks is not None:
            self._read_jwks(settings.jwks)

    @property
    def open_to_all(self) -> bool:
        """Nobody has to show a token."""
        return self._settings.tokens is None and self._settings.jwks is None and not self._own

    @property
    def origins(self) -> frozenset[str]:
        """Pages elsewhere that may call us."""
        return self._gate.origins

    @property
    def authorization_servers(self) -> list[str]:
        """Who signs the tokens that we take."""
        return [self._settings.jwt_issuer] if self._settings.jwks and self._settings.jwt_issuer else []

    def admit(self, headers: Mapping[str, str], address: str = "") -> Admitted | Rejected:
        """May this request come in, and as whom?"""
        self.look_again()
        looks = tuple([headers.get(name) for name in JUDGED])
        known = self._remembered.get(looks)
        if known is not None:
            return known
        verdict = self._judged(headers, address)
        if isinstance(verdict, Admitted) and len(self._remembered) < REMEMBERED:
            self._remembered[looks] = verdict
        return verdict

    def _judged(self, headers: Mapping[str, str], address: str) -> Admitted | Rejected:
        rejected = rejected_request(self._gate, headers)
        if rejected is not None:
            return rejected
        if self.open_to_all:
            return Admitted(LOCAL)
        token = bearer_token(headers)
        if token is None:
            return NO_TOKEN
        shown, now = hashlib.sha256(token.encode()).digest(), time.monotonic()
        if shown not in self._accepted and self._failed.wait(address, now) > 0:
            return TOO_MANY_FAILURES
        verdict = self._checked(token, shown)
        if isinstance(verdict, Admitted):
            self._accepted[shown] = None
            if len(self._accepted) > ACCEPTED:
                self._accepted.popitem(last=False)
        elif self._failed.failed(address, now):
            logger.warning("too many wrong tokens from %s; it may try two a second from now on", address or "a client")
        return verdict

    def _checked(self, token: str, shown: bytes) -> Admitted | Rejected:
        if self._settings.jwks is not None and token.count(".") == 2:
            return self._signed(token)
        principal = principal_of(self._gate.tokens, shown)
        return UNKNOWN_TOKEN if principal is None else Admitted(principal)

    def _signed(self, token: str) -> Admitted | Rejected:
        refused = Rejected(401, "Unauthorized: this token is not valid here")
        try:
            key = self._keys.get(self._jwt.get_unverified_header(token).get("kid", ""))
            if key is None:
                return refused
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
            return refused
        why = why_no_principal(claims["sub"])
        if why:
            logger.info("a signed token was refused: its sub %s", why)
            return Rejected(401, f"Unauthorized: the sub of this token {why}")
        return Admitted(claims["sub"], float(claims["exp"]) + CLOCK_SKEW)

    def look_again(self) -> None:
        """Read the files again that have changed, if the last look was a while ago."""
        now = time.monotonic()
        if now - self._looked_at < LOOK_INTERVAL:
            return
        self._looked_at = now
        self._remembered.clear()
        for path, read in ((self._settings.tokens, self._read_tokens), (self._settings.jwks, self._read_jwks)):
            if path is None:
                continue
            try:
                if _state(path) != self._states[path]:
                    read(path)
                    logger.info("%s was read again", path)
            except (OSError, BadSetting) as exc:
                # The old ones hold on: a file in the middle of being written must not lock everybody out.
                logger.error("%s; what was read before stays valid", exc)

    def _read_tokens(self, path: str) -> None:
        try:
            state = _state(path)
            with open(path, encoding="utf-8") as file:
                tokens = parse_tokens(file.read())
        except (OSError, UnicodeDecodeError, ValueError) as exc:
            why = exc.strerror if isinstance(exc, OSError) else exc
            raise BadSetting(f"cannot use the token file {path}: {why}") from exc
        if os.stat(path).st_mode & stat.S_IROTH:
            logger.warning("every user of this machine can read the token file %s; run chmod 600 on it", path)
        self._gate = msgspec.structs.replace(self._gate, tokens=tokens | self._own)
        self._states[path] = state
        self.generation += 1

    def _read_jwks(self, path: str) -> None:
        # Loaded here: only a server that takes signed tokens needs it.
        self._jwt = importlib.import_module("jwt")
        try:
            state = _state(path)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            # Once we serve, a list without keys takes all of them away; before, it is a mistake.
            is_empty = path in self._states and msgspec.json.decode(text) == {"keys": []}
            keys = [] if is_empty else self._jwt.PyJWKSet.from_json(text).keys
        except (OSError, ValueError, AttributeError, TypeError, self._jwt.PyJWTError) as exc:  # whatever else it holds
            raise BadSetting(f"cannot use the key file {path}: {exc}") from exc
        named = {key.key_id: key for key in keys if key.key_id}
        if not named and not is_empty:
            raise BadSetting(f"cannot use the key file {path}: none of its keys has a name (kid)")
        self._keys = named
        self._states[path] = state
        self.generation += 1


def _state(path: str) -> FileState:
    status = os.stat(path)
    return status.st_ino, status.st_mtime_ns, status.st_size
