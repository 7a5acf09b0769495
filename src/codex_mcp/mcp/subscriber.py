"""A client that listens to changes, as long as its request `subscriptions/listen` is open."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from codex_mcp.mcp.client import Client
from codex_mcp.wire import mcp


class Subscriber:
    """A subscription to changes."""

    def __init__(self, client: Client, wanted: mcp.Wanted) -> None:
        self.client = client
        self.wanted = wanted
        self.ended = asyncio.Event()
        self._at_end: list[Callable[[], None]] = []

    def accept(self, wanted: mcp.Wanted) -> None:
        """These changes will be reported."""
        self.wanted = wanted

    def at_end(self, clean_up: Callable[[], None]) -> None:
        """Call this when the subscription ends. It must not raise."""
        self._at_end.append(clean_up)

    def release(self) -> None:
        while self._at_end:
            self._at_end.pop()()
