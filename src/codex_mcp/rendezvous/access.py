"""Who sends a request: checks its bearer token against the token file, which is read again when it changes."""

from __future__ import annotations

import hashlib
import logging
import os
import stat
import time
from collections.abc import Mapping
from typing import Final

from codex_mcp.base.errors import BadSetting
from codex_mcp.base.files import read_regular
from codex_mcp.mcp.http.access.gate import Gate, Rejected, bearer_token
from codex_mcp.mcp.http.access.rates import FailedLogins, Rates
from codex_mcp.rendezvous.grants import TokenFile, parse_token_file
from codex_mcp.rendezvous.registry import RegistryError

logger = logging.getLogger(__name__)

REQUESTS_PER_SECOND: Final = 200.0
"""Of one principal: an executor with 128 streams asks once for each when they all connect at once."""


class TokenAccess:
    def __init__(self, path: str) -> None:
        """Raises BadSetting."""
        self._path = path
        self._failed = FailedLogins()
        self._rates = Rates(REQUESTS_PER_SECOND)
        self._accepted: set[bytes] = set()
        """Hashes of tokens that were valid before: their owners are not locked out by others at the same address."""
        self._state: object = None
        self.file: TokenFile
        self._gate: Gate
        self._read()

    def principal(self, headers: Mapping[str, str], address: str) -> str:
        """Raises RegistryError."""
        token = bearer_token(headers)
        if token is None:
            raise RegistryError(401, "unauthorized", "send the header Authorization: Bearer TOKEN")
        now = time.monotonic()
        digest = hashlib.sha256(token.encode()).digest()
        if digest not in self._accepted and self._failed.wait(address, now) > 0:
            raise RegistryError(429, "too_many_requests", "too many invalid tokens; try again in a second")
        verdict = self._gate.principal(digest)
        if isinstance(verdict, Rejected):
            if self._failed.failed(address, now):
                logger.warning("too many invalid tokens from %s; it may now try two per second", address)
            raise RegistryError(401, "unauthorized", "unknown token")
        self._accepted.add(digest)
        if self._rates.taken(verdict.principal, now) > 0:
            raise RegistryError(429, "too_many_requests", f"at most {REQUESTS_PER_SECOND:g} requests per second")
        return verdict.principal

    def refresh(self) -> bool:
        """Read the file if it has changed. True if something else is in force now."""
        try:
            if _state(self._path) == self._state:
                return False
            self._read()
        except (OSError, BadSetting) as exc:
            # A file that is just being written must not lock everyone out.
            logger.error("%s; what was read before stays valid", exc)
            return False
        logger.info("read %s again", self._path)
        return True

    def _read(self) -> None:
        try:
            state = _state(self._path)
            parsed = parse_token_file(read_regular(self._path).decode())
        except (OSError, UnicodeDecodeError, ValueError) as exc:
            why = exc.strerror if isinstance(exc, OSError) else exc
            raise BadSetting(f"cannot use the token file {self._path}: {why}") from exc
        if os.stat(self._path).st_mode & stat.S_IROTH:
            logger.warning("every user of this machine can read the token file %s; run chmod 600 on it", self._path)
        self._accepted &= parsed.tokens.keys()
        self.file, self._gate, self._state = parsed, Gate(tokens=dict(parsed.tokens)), state


def _state(path: str) -> object:
    """Changes when the file does."""
    found = os.stat(path)
    return found.st_mtime_ns, found.st_size, found.st_ino
