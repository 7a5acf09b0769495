"""Keeps an open page up to date with server-sent events: what has changed, not more often than it can be read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from codex_mcp.base.futures import Waiter
from codex_mcp.base.tasks import TaskSet
from codex_mcp.dashboard.fleet import Fleet
from codex_mcp.dashboard.live import NOTHING, Parts, event, patch
from codex_mcp.dashboard.sessions import MOST_STREAMS, Session
from codex_mcp.transports.http import HttpExchange

LEAST: Final = 0.25
"""Seconds between two patches."""

BEAT: Final = 5.0
"""Seconds of silence after which a sign of life is sent. What depends on the time alone is looked at as often."""

RETRY: Final = b"retry: 2000\n\n"


class Bye(Struct, frozen=True):
    reason: str


class Streams:
    """The open pages of all sessions."""

    def __init__(self) -> None:
        self._open: dict[str, list[_Stream]] = {}
        self._closing = False

    def count(self) -> int:
        return sum(map(len, self._open.values()))

    async def serve(
        self, http: HttpExchange, session: Session, fleet: Fleet, look: Callable[[], Parts], goes_on: Callable[[], bool]
    ) -> None:
        """Until the page is closed. `look` is what the page would show now; `goes_on` whether it may still be shown."""
        stream = _Stream()
        mine = self._open.setdefault(session.id, [])
        mine.append(stream)
        if len(mine) > MOST_STREAMS:
            mine[0].leave("tab-limit")
        if self._closing:
            stream.leave("shutdown")
        try:
            await stream.run(http, fleet, look, goes_on)
        finally:
            mine.remove(stream)
            if not mine:
                self._open.pop(session.id, None)

    def end(self, session: Session) -> None:
        """The session was ended."""
        for stream in self._open.get(session.id, ()):
            stream.leave("signed-out")

    def close(self) -> None:
        """The server stops."""
        self._closing = True
        for streams in self._open.values():
            for stream in streams:
                stream.leave("shutdown")


class _Stream:
    def __init__(self) -> None:
        self._bye = ""
        self._wake: Waiter | None = None

    def leave(self, why: str) -> None:
        self._bye = why
        self._resolve()

    def _resolve(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    async def run(
        self, http: HttpExchange, fleet: Fleet, look: Callable[[], Parts], goes_on: Callable[[], bool]
    ) -> None:
        tasks, sent = TaskSet(), NOTHING
        gone = http.disconnected(tasks)
        gone.add_done_callback(lambda _: self._resolve())
        loop = asyncio.get_running_loop()
        try:
            await http.start_stream(RETRY)
            while not gone.done():
                if not goes_on():
                    self._bye = self._bye or "signed-out"
                if self._bye:
                    await http.end_stream(event("bye", Bye(self._bye)))
                    return
                if self._wake is None or self._wake.done():
                    self._wake = asyncio.get_running_loop().create_future()
                    fleet.watch(self._wake)
                now = look()
                changed = patch(sent, now)
                sent = now
                await http.write(event("beat", {}) if changed is None else event("patch", changed))
                again = loop.time() + LEAST
                await asyncio.wait([self._wake], timeout=BEAT)
                if not gone.done() and not self._bye:
                    await asyncio.sleep(max(0.0, again - loop.time()))  # what comes alone is sent at once
        finally:
            await tasks.aclose()
