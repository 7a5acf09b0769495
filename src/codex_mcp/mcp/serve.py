"""MCP over stdio, from the first byte to an orderly end.

The server ends when stdin ends or a signal comes (`shutdown`); queued answers are written last. Once stdout is closed,
running turns are interrupted at once, because their answers could not be delivered.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from functools import partial
from typing import IO, Final

from msgspec.structs import replace

from codex_mcp.access.seal import KEY_BYTES
from codex_mcp.base.logs import about_only
from codex_mcp.base.settings.groups import Settings
from codex_mcp.base.signals import first, signals_received
from codex_mcp.base.tasks import TaskSet
from codex_mcp.codex.supervisor import Launcher
from codex_mcp.mcp.methods import handle_notification
from codex_mcp.mcp.session import ON_STDIO, Session
from codex_mcp.mcp.shutdown import Shutdown
from codex_mcp.mcp.tools.product import MakeProduct, plain_product
from codex_mcp.rpc.peer import Handlers, Peer
from codex_mcp.rpc.watched import watched
from codex_mcp.threads.threads import Threads
from codex_mcp.transports.stdio import StdioChannel, open_stdio

logger = logging.getLogger(__name__)

MAX_REQUESTS: Final = 1024
"""Requests of one client at once. Each may be a turn of its own; more than this is a client in a loop."""

UNREAD_LIMIT: Final = 64 * 1024 * 1024
"""Unread bytes beyond which we stop reading requests, because the client does not read our answers."""

FLUSH_GRACE: Final = 2.0
"""Seconds that a client gets to read the last answers."""


class StdioServer:
    def __init__(
        self,
        channel: StdioChannel,
        settings: Settings,
        launch: Launcher,
        make: MakeProduct = plain_product,
    ) -> None:
        self._settings = settings
        self._channel = channel
        # The core is held back while the client has this much to read, and the client itself beyond UNREAD_LIMIT.
        pace = partial(channel.drain, settings.calls.outbox_bytes)
        self._threads = Threads(settings.core, settings.calls, launch, pace)
        self._peer = Peer(
            watched(channel, "client"),
            Handlers(
                lambda request: self._product.methods.handle(self._session, request),
                lambda message: handle_notification(self._session, message),
            ),
            max_requests=MAX_REQUESTS,
            pace=partial(channel.drain, UNREAD_LIMIT),
        )
        key = secrets.token_bytes(KEY_BYTES)
        self._product = make(self._threads, settings, key)
        origin = replace(ON_STDIO, is_unread=channel.is_unread)
        self._session = Session(self._peer, self._product.tools, settings.calls, origin, self._stop_reading)
        self._tasks = TaskSet()
        self._reading: asyncio.Task[None] | None = None

    async def run(self) -> None:
        with about_only(self._session.subject):
            logger.info("serving on stdio")
            with signals_received() as signals:
                reading = self._reading = self._tasks.spawn(self._peer.run(), name="stdin")
                unread = self._tasks.spawn(self._channel.until_unread(), name="stdout")
                await first(reading, signals, unread)
                self._peer.stop_accepting()
                self._channel.send_only_answers()
                logger.info("stopping: %s", _why_stopped(reading, unread))
                # Inside `signals_received`: a further signal must not kill us before the core has ended.
                shutdown = Shutdown(lambda: [self._session], self._threads, self._settings.calls)
                await shutdown.run(self._product, signals, unread=unread)
                await self._close()
            logger.info("stopped")

    async def _close(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FLUSH_GRACE):
                # All calls are answered; wait until the answers are written.
                await self._session.wait_idle(FLUSH_GRACE)
                await self._peer.aclose()
        self._session.close()
        await self._tasks.aclose()

    def _stop_reading(self) -> None:
        if self._reading is not None:
            self._reading.cancel()


def _why_stopped(reading: asyncio.Task[None], unread: asyncio.Task[None]) -> str:
    if reading.cancelled():
        return "the client asked for it"
    if unread.done():
        return "stdout is closed"
    return "stdin has ended" if reading.done() else "a signal came"


async def serve_stdio(
    stdin: IO[bytes],
    stdout: IO[bytes],
    settings: Settings,
    launch: Launcher,
    make: MakeProduct = plain_product,
) -> None:
    channel = await open_stdio(stdin, stdout, settings.core.max_message_bytes)
    await StdioServer(channel, settings, launch, make).run()
