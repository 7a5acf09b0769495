"""What was let in by a token, as long as it lasts: when the token is revoked or expires, its connection is closed."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from codex_mcp.mcp.http.access.gate import Admitted
from codex_mcp.mcp.http.access.token_checks import Doorkeeper

logger = logging.getLogger(__name__)

CHECK_INTERVAL: Final = 1.0
"""Seconds between two checks: a revoked token is of no use a second or two later."""


class Grant:
    """One request or socket that was let in."""

    __slots__ = ("admitted", "close", "generation", "headers")

    def __init__(
        self, headers: Mapping[str, str], admitted: Admitted, generation: int, close: Callable[[], Awaitable[None]]
    ) -> None:
        self.headers = headers
        self.admitted = admitted
        self.generation = generation
        self.close = close


class Grants:
    """All of them."""

    def __init__(self, doorkeeper: Doorkeeper) -> None:
        self._doorkeeper = doorkeeper
        self._open: set[Grant] = set()

    def __len__(self) -> int:
        """How many there are."""
        return len(self._open)

    def hold(self, headers: Mapping[str, str], admitted: Admitted, close: Callable[[], Awaitable[None]]) -> Grant:
        """From now on it is checked, until `release`. `close` ends its connection."""
        grant = Grant(headers, admitted, self._doorkeeper.generation, close)
        self._open.add(grant)
        return grant

    def release(self, grant: Grant) -> None:
        """It is over."""
        self._open.discard(grant)

    def still_holds(self, grant: Grant) -> bool:
        """Would it be let in now as the same principal?"""
        doorkeeper = self._doorkeeper
        doorkeeper.look_again()
        expires = grant.admitted.expires
        if grant.generation == doorkeeper.generation and (expires is None or time.time() < expires):
            return True
        verdict = doorkeeper.admit(grant.headers)
        if not isinstance(verdict, Admitted) or verdict.principal != grant.admitted.principal:
            return False
        grant.admitted, grant.generation = verdict, doorkeeper.generation
        return True

    async def check(self) -> None:
        """Close what would not be let in any longer."""
        for grant in list(self._open):
            if grant in self._open and not self.still_holds(grant):
                self._open.discard(grant)
                logger.info("closed a connection of %s: its token is no longer valid", grant.admitted.principal)
                await grant.close()

    async def watch(self) -> None:
        """Check again and again."""
        while True:
            await asyncio.sleep(CHECK_INTERVAL)
            await self.check()
