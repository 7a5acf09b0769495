"""Connections that were let in by a token: when the token is revoked or expires, its connections are closed."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct

from codex_mcp.access.access_control import AccessControl
from codex_mcp.access.gate import Admitted

logger = logging.getLogger(__name__)

CHECK_INTERVAL: Final = 1.0
"""Seconds between two checks: a revoked token stops working within a second or two."""

CLOSED_BY_POLICY: Final = 1008
NO_LONGER_VALID: Final = "the token is no longer valid"


class TokenGrant(Struct, eq=False):
    headers: Mapping[str, str]
    admitted: Admitted
    generation: int
    close: Callable[[], None]


class Grants:
    def __init__(self, access: AccessControl) -> None:
        self._access = access
        self._open: set[TokenGrant] = set()

    def __len__(self) -> int:
        return len(self._open)

    def hold(self, headers: Mapping[str, str], admitted: Admitted, close: Callable[[], None]) -> TokenGrant:
        """Check it regularly until `release`; `close` ends its connection."""
        grant = TokenGrant(headers, admitted, self._access.generation, close)
        self._open.add(grant)
        return grant

    def release(self, grant: TokenGrant) -> None:
        self._open.discard(grant)

    def still_holds(self, grant: TokenGrant) -> bool:
        """Whether it would be let in now, as the same principal."""
        access = self._access
        access.refresh()
        expires = grant.admitted.expires
        if grant.generation == access.generation and (expires is None or time.time() < expires):
            return True
        verdict = access.admit(grant.headers)
        if not isinstance(verdict, Admitted) or verdict.principal != grant.admitted.principal:
            return False
        grant.admitted, grant.generation = verdict, access.generation
        return True

    def check(self) -> None:
        for grant in list(self._open):
            if grant in self._open and not self.still_holds(grant):
                self._open.discard(grant)
                logger.info("closed a connection of %s: its token is no longer valid", grant.admitted.principal)
                grant.close()

    async def watch(self) -> None:
        while True:
            await asyncio.sleep(CHECK_INTERVAL)
            self.check()
