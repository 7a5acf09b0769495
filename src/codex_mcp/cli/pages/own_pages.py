"""The dashboard as a server of its own, on this machine only, for the time of one command."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Callable

import uvicorn

from codex_mcp.access.access_control import AccessControl
from codex_mcp.access.peers import Peers
from codex_mcp.base.settings.http import HttpSettings
from codex_mcp.base.signals import first, signals_received
from codex_mcp.base.tasks import TaskSet
from codex_mcp.dashboard.late import LatePages
from codex_mcp.mcp.http.serve import web_server
from codex_mcp.mcp.pages import is_page
from codex_mcp.transports import web_server as web
from codex_mcp.transports.http import TEXT, HttpExchange, Receive, Scope, Send
from codex_mcp.transports.web_limits import WebLimits


class OwnPages:
    """Made by `own_pages`."""

    def __init__(self, pages: LatePages, serving: asyncio.Task[None], signals: asyncio.Queue[int]) -> None:
        self._pages = pages
        self._serving = serving
        self._signals = signals

    def sign_in(self, person: str, *, view: bool, writes_as: str = "") -> tuple[str, float]:
        return self._pages.sign_in(person, view=view, writes_as=writes_as)

    async def until_stopped(self, again: Callable[[], None]) -> None:
        """Until a signal arrives. `again` is called each time that a person presses Enter."""
        loop, is_terminal = asyncio.get_running_loop(), sys.stdin.isatty()

        def pressed() -> None:
            if sys.stdin.readline():
                again()
            else:
                loop.remove_reader(sys.stdin.fileno())

        if is_terminal:
            loop.add_reader(sys.stdin.fileno(), pressed)
        try:
            await first(self._serving, self._signals)
        finally:
            if is_terminal:
                loop.remove_reader(sys.stdin.fileno())


class _Application:
    def __init__(self, pages: LatePages) -> None:
        self._pages = pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        http = HttpExchange(scope, receive, send)
        why = None if http.connection is None else await http.connection.why_refused()
        if http.offers_socket:
            await http.respond(403)
        elif why is not None:
            await http.respond(403, why.encode() + b"\n", TEXT, (b"connection", b"close"))
        elif is_page(http.path) or http.path == "/":
            await self._pages.serve(http)
        else:
            await http.respond(404, b"The pages are at /ui.\n", TEXT)


@contextlib.asynccontextmanager
async def own_pages(state_dir: str, codex_home: str, port: int) -> AsyncIterator[OwnPages]:
    """Serve them while the block runs. Raises Refused if the port is taken."""
    settings, pages, tasks = HttpSettings(), LatePages(state_dir, codex_home), TaskSet()
    peers = Peers()
    with contextlib.closing(web.listener(settings.host, port)) as listener, signals_received() as signals:
        limits = WebLimits(settings.stall_timeout, peers=peers)
        server = web_server(_Application(pages), settings, limits)
        pages.opened(AccessControl(settings, ""), f"http://{settings.host}:{listener.getsockname()[1]}")
        serving = tasks.spawn(server.serve([listener]), name="pages")
        try:
            yield OwnPages(pages, serving, signals)
        finally:
            await _end(pages, server, serving)
            await tasks.aclose()
            peers.close()


async def _end(pages: LatePages, server: uvicorn.Server, serving: asyncio.Task[None]) -> None:
    pages.stop()
    server.should_exit = True
    await asyncio.wait([serving], timeout=2 * web.END_GRACE)
    await pages.aclose()
