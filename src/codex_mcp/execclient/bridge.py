"""A loopback WebSocket for Codex that leads to an executor behind a rendezvous: Codex itself only dials WebSockets.

Only whoever has the bridge's token may connect, and it is given to one Codex. Each of its connections becomes a stream;
when the stream ends, the connection does too, and Codex resumes its session over the next one.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from types import TracebackType
from typing import Final, Self

from codex_mcp.execclient.connection import Dial
from codex_mcp.execclient.passage import Destination, Passages
from codex_mcp.transports.websockets.accepted import Endpoint, listen

MAX_CONNECTIONS: Final = 16
"""Of one Codex, which needs one, and another one while it recovers."""


class Bridge:
    """An async context manager; `url` and `token` are for Codex."""

    def __init__(self, dial: Dial) -> None:
        self.url = ""
        self.token = secrets.token_urlsafe(32)
        self._problem = ""
        self._passages = Passages(Destination(dial, "the executor", self._dialled), MAX_CONNECTIONS)
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        endpoint = Endpoint(self._passages.accept, self._refusal, self._passages.is_full)
        self._server = await listen("127.0.0.1", 0, endpoint)
        self.url = f"ws://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()
        await self._passages.aclose()

    def problem(self) -> str:
        """Why the executor was not reached last time; empty if it was."""
        return self._problem

    def _dialled(self, problem: str) -> None:
        self._problem = problem

    def _refusal(self, header: str | None) -> str | None:
        expected = f"Bearer {self.token}".encode()
        return None if hmac.compare_digest((header or "").encode(), expected) else "invalid token"
