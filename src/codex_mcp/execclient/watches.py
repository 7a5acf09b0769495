"""Waiting for files that do not exist yet (`fs/watchMissing`)."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TypeAlias

from codex_mcp.execclient.errors import NotOffered
from codex_mcp.execclient.link import Link
from codex_mcp.execclient.uris import file_uri
from codex_mcp.wire.exec.files import Watching, WatchMissing

Watch: TypeAlias = AbstractAsyncContextManager[asyncio.Event]


class Watches:
    """The watches of one client. They belong to a connection: when it breaks, everyone is told to look again."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._events: dict[int, asyncio.Event] = {}
        self._ids = itertools.count(1)

    @contextlib.asynccontextmanager
    async def watch(self, missing: Sequence[str], present: str | None = None) -> AsyncIterator[asyncio.Event]:
        """An event that is set when one of these paths may exist, or when the watch was lost. Raises NotOffered."""
        if not self._link.capabilities.fs_watch_missing:
            raise NotOffered("cannot watch for files: this exec-server does not offer it")
        watch_id = next(self._ids)
        changed = self._events[watch_id] = asyncio.Event()
        params = WatchMissing(
            watch_id, [file_uri(path) for path in missing], None if present is None else file_uri(present)
        )
        try:
            if not (await self._link.call("fs/watchMissing", params, Watching)).watching:
                changed.set()
            yield changed
        finally:
            del self._events[watch_id]

    def missing_changed(self, watch_id: int) -> None:
        """The server says that a watched path has come into being."""
        if (changed := self._events.get(watch_id)) is not None:
            changed.set()

    def connection_lost(self) -> None:
        """No news can come any more: let everyone look."""
        for changed in self._events.values():
            changed.set()
