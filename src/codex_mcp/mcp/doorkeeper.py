"""Keeps the gate: reads the files that say who may come in, again when they change, and checks signed tokens."""

from __future__ import annotations

import importlib
import logging
import os
import time
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from codex_mcp.base.errors import BadSetting
from codex_mcp.base.settings import Settings
from codex_mcp.mcp.gate import LOOPBACK, Admitted, Gate, Rejected, admitted
from codex_mcp.mcp.tokens import PRINCIPAL, parse_tokens
from codex_mcp.threads.owners import LOCAL

logger = logging.getLogger(__name__)

LOOK_INTERVAL: Final = 1.0
"""Seconds between two looks at the token file: a token that is taken away is gone a second later."""

CLOCK_SKEW: Final = 30
"""Seconds by which the clocks of us and of who signs may differ."""

ALGORITHMS: Final = ("RS256", "RS384", "RS512", "ES256", "ES384", "PS256", "EdDSA")
"""Of public keys only: with a shared secret, whoever can check a token could make one."""


class Doorkeeper:
    """Who may come in, by the settings of this server."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._gate = Gate(
            hosts=LOOPBACK | {settings.host} | frozenset(settings.allowed_hosts),
            origins=frozenset(settings.allowed_origins),
        )
        self._file_state: tuple[float, int] = (0.0, -1)
        self._looked_at = 0.0
        self._jwt: Any = None
        self._keys: Mapping[str, Any] = {}
        if settings.tokens is not None:
            self._read_tokens(settings.tokens)
        if settings.jwks is not None:
            self._read_jwks(settings.jwks)

    @property
    def open_to_all(self) -> bool:
        """Nobody has to show a token."""
        return not self._gate.tokens and not self._keys

    @property
    def origins(self) -> frozenset[str]:
        """Pages elsewhere that may call us."""
        return self._gate.origins

    @property
    def authorization_servers(self) -> list[str]:
        """Who signs the tokens that we take."""
        return [self._settings.jwt_issuer] if self._keys and self._settings.jwt_issuer else []

    def admit(self, headers: Mapping[str, str]) -> Admitted | Rejected:
        """May this request come in, and as whom?"""
        self._look_again()
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if self._keys and scheme.lower() == "bearer" and token.count(".") == 2:
            verdict = admitted(msgspec.structs.replace(self._gate, tokens={}), headers, LOCAL)
            return self._signed(token.strip()) if isinstance(verdict, Admitted) else verdict
        if self._keys and not self._gate.tokens:
            verdict = admitted(self._gate, headers, LOCAL)
            return Rejected(401, "Unauthorized: send a signed token") if isinstance(verdict, Admitted) else verdict
        return admitted(self._gate, headers, LOCAL)

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
        subject = str(claims["sub"])
        return Admitted(subject) if PRINCIPAL.fullmatch(subject) and subject != LOCAL else refused

    def _look_again(self) -> None:
        now = time.monotonic()
        if self._settings.tokens is None or now - self._looked_at < LOOK_INTERVAL:
            return
        self._looked_at = now
        try:
            if _state(self._settings.tokens) != self._file_state:
                self._read_tokens(self._settings.tokens)
                logger.info("the tokens were read again")
        except (OSError, BadSetting) as exc:
            # The old ones hold on: a file in the middle of being written must not lock everybody out.
            logger.error("%s; the tokens read before stay valid", exc)

    def _read_tokens(self, path: str) -> None:
        try:
            state = _state(path)
            with open(path, encoding="utf-8") as file:
                tokens = parse_tokens(file.read())
        except (OSError, UnicodeDecodeError, ValueError) as exc:
            why = exc.strerror if isinstance(exc, OSError) else exc
            raise BadSetting(f"cannot use the token file {path}: {why}") from exc
        self._gate = msgspec.structs.replace(self._gate, tokens=tokens)
        self._file_state = state

    def _read_jwks(self, path: str) -> None:
        # Loaded here: only a server that takes signed tokens needs it.
        self._jwt = importlib.import_module("jwt")
        try:
            with open(path, encoding="utf-8") as file:
                keys = self._jwt.PyJWKSet.from_json(file.read()).keys
        except (OSError, ValueError, AttributeError, TypeError, self._jwt.PyJWTError) as exc:  # whatever else it holds
            raise BadSetting(f"cannot use the key file {path}: {exc}") from exc
        self._keys = {key.key_id: key for key in keys if key.key_id}
        if not self._keys:
            raise BadSetting(f"cannot use the key file {path}: none of its keys has a name (kid)")


def _state(path: str) -> tuple[float, int]:
    status = os.stat(path)
    return status.st_mtime, status.st_size
