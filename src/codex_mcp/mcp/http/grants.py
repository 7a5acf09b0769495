"""Connections that were let in by a token: when the token is revoked or expires, its connections are closed."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, Final

from msgspec import Struct

from codex_mcp.access.access_control import AccessControl
from codex_mcp.access.gate import Admitted
from codex_mcp.transports.http import Receive, Send

logger = logging.getLogger(__name__)

CHECK_INTERVAL: Final = 1.0
"""Seconds between two checks: a revoked token stops working within a second or two."""

CLOSED_BY_POLICY: Final = 1008
NO_LONGER_VALID: Final = "the token is no longer valid"


class TokenGrant(Struct, eq=False):
    headers: Mapping[str, str]
    admitted: Admitted
    generation: int
    close: Callable[[], Awaitable[None]]


class Grants:
    def __init__(self, access: AccessControl) -> None:
        self._access = access
        self._open: set[TokenGrant] = set()

    def __len__(self) -> int:
        return len(self._open)

    def hold(self, headers: Mapping[str, str], admitted: Admitted, close: Callable[[], Awaitable[None]]) -> TokenGrant:
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

    async def check(self) -> None:
        for grant in list(self._open):
            if grant in self._open and not self.still_holds(grant):
                self._open.discard(grant)
                logger.info("closed a connection of %s: its token is no longer valid", grant.admitted.principal)
                await grant.close()

    async def watch(self) -> None:
        while True:
            await asyncio.sleep(CHECK_INTERVAL)
            await self.check()


class RevocableSocket:
    """A WebSocket that is closed when its token is no longer valid: at its next message, or at the next check."""

    def __init__(
        self, receive: Receive, send: Send, grants: Grants, headers: Mapping[str, str], admitted: Admitted
    ) -> None:
        self._receive = receive
        self._send = send
        self._closed = False
        self._grants = grants
        self._grant = grants.hold(headers, admitted, self.close)

    def release(self) -> None:
        self._grants.release(self._grant)

    async def receive(self) -> MutableMapping[str, Any]:
        event = await self._receive()
        if event["type"] != "websocket.receive" or self._grants.still_holds(self._grant):
            return event
        await self.close()
        return {"type": "websocket.disconnect", "code": CLOSED_BY_POLICY}

    async def send(self, message: MutableMapping[str, Any]) -> None:
        if not self._closed:
            await self._send(message)

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            with contextlib.suppress(OSError):  # the client is gone already
                await self._send({"type": "websocket.close", "code": CLOSED_BY_POLICY, "reason": NO_LONGER_VALID})
