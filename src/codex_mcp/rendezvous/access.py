"""Who sends a request: checks its bearer token against the token file, which is read again when it changes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

from codex_mcp.access.gate import TOO_MANY_FAILURES, Gate, Rejected, bearer_token
from codex_mcp.access.logins import Logins
from codex_mcp.access.rates import Rates
from codex_mcp.access.token_files import WatchedFile, read_tokens
from codex_mcp.rendezvous.grants import TokenFile, parse_token_file
from codex_mcp.rendezvous.registry import RegistryError

REQUESTS_PER_SECOND: Final = 200.0
"""Of one principal: an executor with 128 streams asks once for each when they all connect at once."""


class TokenAccess:
    def __init__(self, path: str) -> None:
        """Raises BadSetting."""
        self._logins = Logins()
        self._rates = Rates(REQUESTS_PER_SECOND)
        self.file: TokenFile
        self._watched = WatchedFile(path, self._read)

    def principal(self, headers: Mapping[str, str], address: str) -> str:
        """Raises RegistryError."""
        token = bearer_token(headers)
        if token is None:
            raise RegistryError(401, "unauthorized", "send the header Authorization: Bearer TOKEN")
        verdict = self._logins.verdict(token, address, Gate(tokens=self.file.tokens).principal)
        if verdict is TOO_MANY_FAILURES:
            raise RegistryError(429, "too_many_requests", "too many invalid tokens; try again in a second")
        if isinstance(verdict, Rejected):
            raise RegistryError(401, "unauthorized", "unknown token")
        if self._rates.taken(verdict.principal, time.monotonic()) > 0:
            raise RegistryError(429, "too_many_requests", f"at most {REQUESTS_PER_SECOND:g} requests per second")
        return verdict.principal

    def refresh(self) -> bool:
        """Read the file if it has changed. True if something else is in force now."""
        return self._watched.refresh()

    def _read(self, path: str) -> None:
        self.file = read_tokens(path, parse_token_file)
