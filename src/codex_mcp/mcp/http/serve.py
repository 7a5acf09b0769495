"""MCP over HTTP and WebSocket for many clients, from the first request to an orderly end.

On a signal it refuses new work, lets running calls finish within their grace and interrupts the rest, ends every
stream, and stops the core.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import Callable

import uvicorn
from msgspec.structs import replace

from codex_mcp.access.access_control import AccessControl
from codex_mcp.access.gate import LOOPBACK, warning_without_tokens
from codex_mcp.access.peers import Peers
from codex_mcp.base.errors import Refused
from codex_mcp.base.files import read_if_there
from codex_mcp.base.settings.groups import Settings
from codex_mcp.base.settings.http import HttpSettings
from codex_mcp.base.settings.kinds import Protocol
from codex_mcp.base.signals import first, signals_received
from codex_mcp.base.tasks import TaskSet
from codex_mcp.codex.supervisor import Launcher
from codex_mcp.mcp.http.app import HttpApp
from codex_mcp.mcp.http.ended_sessions import EndedSessions
from codex_mcp.mcp.http.hops import Hops
from codex_mcp.mcp.http.hub import Hub
from codex_mcp.mcp.http.metrics import Metrics
from codex_mcp.mcp.shutdown import Shutdown
from codex_mcp.mcp.tools.product import MakeProduct, plain_product
from codex_mcp.state.contract import Unavailable
from codex_mcp.state.embedded.owners import EmbeddedOwners
from codex_mcp.threads.threads import Threads
from codex_mcp.transports import web_server as web
from codex_mcp.transports.first_bytes import start_tls_ourselves
from codex_mcp.transports.web_limits import WebLimits

logger = logging.getLogger(__name__)


def web_server(app: web.Application, settings: HttpSettings, limits: WebLimits | None = None) -> uvicorn.Server:
    return web.web_server(
        app,
        limits or WebLimits(settings.stall_timeout),
        ssl_certfile=settings.tls_cert,
        ssl_keyfile=settings.tls_key,
    )


class HttpServer:
    def __init__(
        self,
        settings: Settings,
        launch: Launcher,
        access: AccessControl,
        key: bytes,
        make: MakeProduct = plain_product,
    ) -> None:
        self._settings = settings
        self._owners = EmbeddedOwners(settings.core.codex_home)
        self._threads = Threads(
            settings.core, settings.calls, launch, lambda: self._hub.backlog.work_off(), self._owners
        )
        self._product = make(self._threads, settings, key)
        self._hub = Hub(self._product.methods, self._product.tools, settings.http, settings.calls, key)
        self._hub.ask_who_administers(access.administers)
        metrics = Metrics(self._hub, self._threads, self._product.measure)
        self._app = HttpApp(self._hub, access, metrics, settings.http, self._product.pages)
        if self._product.cluster is not None:
            self._app.admit_servers(Hops(*self._product.cluster))
        self._access = access
        self._tasks = TaskSet()

    async def run(self, listener: socket.socket, announce: Callable[[str], None]) -> None:
        """Serve until a signal arrives. Raises Refused if the certificate cannot be used."""
        peers = Peers(refused=self._product.refused)
        limits = WebLimits(self._settings.http.stall_timeout, peers=peers)
        server = web_server(self._app, self._settings.http, limits)
        async with contextlib.AsyncExitStack() as at_the_end:
            at_the_end.callback(peers.close)
            if self._product.pages is not None:
                at_the_end.push_async_callback(self._product.pages.aclose)
            await _open(self._owners, at_the_end)
            ended = EndedSessions(self._settings.core.codex_home)  # it has a thread, so not before the line above
            await _open(ended, at_the_end)
            self._hub.remember_ended(ended)
            _load_certificate(server, self._settings.http)
            start_tls_ourselves(server.config, limits.connections)
            await self._serve(server, listener, announce)

    async def _serve(self, server: uvicorn.Server, listener: socket.socket, announce: Callable[[str], None]) -> None:
        with signals_received() as signals:
            serving = self._tasks.spawn(server.serve([listener]), name="HTTP listener")
            self._tasks.spawn(self._app.grants.watch(), name="check of tokens")
            host, port = listener.getsockname()[:2]
            address = f"{'https' if self._settings.http.tls_cert else 'http'}://{host}:{port}"
            if self._product.pages is not None:
                self._product.pages.opened(self._access, address)
                if self._product.join is not None:
                    self._product.join()
            announce(address)
            await first(serving, signals)
            logger.info("stopping")
            self._hub.stop_accepting()
            if self._product.pages is not None:
                self._product.pages.stop()
            shutdown = Shutdown(self._hub.running, self._threads, self._settings.calls)
            await shutdown.run(self._product, signals, self._hub.aclose)
            server.should_exit = True
            await asyncio.wait([serving], timeout=2 * web.END_GRACE)
            await self._tasks.aclose()


async def _open(store: EmbeddedOwners | EndedSessions, at_the_end: contextlib.AsyncExitStack) -> None:
    try:
        await store.open()
    except Unavailable as exc:
        raise Refused(str(exc)) from exc
    at_the_end.push_async_callback(store.aclose)


async def serve_http(
    settings: Settings,
    launch: Launcher,
    key: bytes,
    announce: Callable[[str], None],
    make: MakeProduct = plain_product,
) -> None:
    """Serve HTTP as the settings say. Raises Refused if that is unsafe or impossible."""
    settings = _with_private_sessions(settings)
    access = AccessControl(settings.http, settings.core.codex_home)
    if settings.http.host not in LOOPBACK and access.open_to_all:
        raise Refused(
            f"cannot listen on {settings.http.host} without tokens: anyone who reaches it could run commands here. "
            "Give --generate-token or --tokens FILE, or listen on 127.0.0.1."
        )
    if access.open_to_all:
        accounts = (read_if_there("/etc/passwd") or b"").decode(errors="replace")
        if warning := warning_without_tokens(os.geteuid(), accounts):
            logger.warning("%s", warning)
    with contextlib.closing(web.listener(settings.http.host, settings.http.port or 0)) as listener:
        await HttpServer(settings, launch, access, key, make).run(listener, announce)


def _with_private_sessions(settings: Settings) -> Settings:
    """Private sessions need sessions: a stateless request belongs to none."""
    if not settings.http.private_sessions:
        return settings
    if settings.http.shared_history:
        raise Refused("cannot keep sessions private with a shared history: give private_sessions or shared_history")
    return replace(settings, calls=replace(settings.calls, protocol=Protocol.LEGACY))


def _load_certificate(server: uvicorn.Server, settings: HttpSettings) -> None:
    cert, key = settings.tls_cert, settings.tls_key
    if cert is None and key is not None:
        raise Refused(f"cannot speak HTTPS with the key {key} alone: give --tls-cert FILE as well")
    if why := web.load_certificate(server):
        raise Refused(
            f"cannot speak HTTPS with the certificate {cert} and the key {key or cert}: {why}; "
            "both must be readable PEM files that belong together"
        )
