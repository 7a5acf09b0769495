"""Runs a rendezvous until a signal: it refuses new work, sends what is queued, and closes its sockets."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Callable
from typing import Final

import uvicorn
from msgspec import Struct

from codex_mcp.access.loopback import is_loopback
from codex_mcp.access.peers import Peers
from codex_mcp.base.errors import Refused
from codex_mcp.base.signals import first, signals_received
from codex_mcp.base.tasks import TaskSet
from codex_mcp.rendezvous.access import TokenAccess
from codex_mcp.rendezvous.app import RendezvousApp
from codex_mcp.rendezvous.audit import RelayAudit
from codex_mcp.rendezvous.registry import Registry
from codex_mcp.rendezvous.relay import STALL_SECONDS, Relay
from codex_mcp.rendezvous.routes import Routes
from codex_mcp.transports.first_bytes import start_tls_ourselves
from codex_mcp.transports.web_limits import WebLimits
from codex_mcp.transports.web_server import END_GRACE, listener, load_certificate, web_server

logger = logging.getLogger(__name__)

CHECK_SECONDS: Final = 1.0
"""Between two looks at the token file and at streams whose end did not return."""


class RendezvousConfig(Struct, frozen=True):
    host: str
    port: int
    tokens: str
    key: bytes
    audit: str | None = None
    tls_cert: str | None = None
    tls_key: str | None = None
    is_insecure: bool = False
    """Other machines may connect without TLS: a proxy in front of us provides it, or the network is trusted."""


async def serve(config: RendezvousConfig, announce: Callable[[str], None]) -> None:
    """Serve until a signal arrives. Raises Refused if that is unsafe or impossible."""
    if not is_loopback(config.host) and config.tls_cert is None and not config.is_insecure:
        raise Refused(
            f"cannot listen on {config.host} without TLS: tokens could be read on the way. Give --tls-cert and "
            "--tls-key, listen on 127.0.0.1, or give --insecure if a proxy provides TLS."
        )
    access = TokenAccess(config.tokens)
    with contextlib.closing(RelayAudit(config.audit)) as audit:
        routes = Routes()
        registry = Registry(config.key, access.file.grants, routes)
        relay = Relay(routes, registry, audit)
        app = RendezvousApp(access, registry, relay, audit)
        with (
            contextlib.closing(listener(config.host, config.port)) as listening,
            contextlib.closing(Peers(only_confined=True)) as peers,
        ):
            server = _server(config, app, peers)
            tasks = TaskSet()
            tasks.spawn(_check(access, registry, relay), name="check of tokens and streams")
            await _run(server, listening, relay, app, announce)
            await tasks.aclose()


async def _run(
    server: uvicorn.Server,
    listening: socket.socket,
    relay: Relay,
    app: RendezvousApp,
    announce: Callable[[str], None],
) -> None:
    tasks = TaskSet()
    with signals_received() as signals:
        serving = tasks.spawn(server.serve([listening]), name="rendezvous listener")
        host, port = listening.getsockname()[:2]
        scheme = "https" if server.config.ssl_certfile else "http"
        announce(f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}")
        await first(serving, signals)
        logger.info("stopping")
        app.stop()
        relay.close_all()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(END_GRACE):
                while len(relay):  # noqa: ASYNC110  each socket ends on its own
                    await asyncio.sleep(0.01)
        server.should_exit = True
        await asyncio.wait([serving], timeout=2 * END_GRACE)
        await tasks.aclose()


async def _check(access: TokenAccess, registry: Registry, relay: Relay) -> None:
    while True:
        await asyncio.sleep(CHECK_SECONDS)
        if access.refresh():
            registry.use(access.file.grants)
            relay.check_grants()
        relay.expire()


def _server(config: RendezvousConfig, app: RendezvousApp, peers: Peers) -> uvicorn.Server:
    # Its log lines contain the paths of sockets, which are secrets.
    logging.getLogger("uvicorn").setLevel(logging.ERROR)
    limits = WebLimits(STALL_SECONDS, peers=peers)
    server = web_server(app, limits, ssl_certfile=config.tls_cert, ssl_keyfile=config.tls_key)
    if why := load_certificate(server):
        raise Refused(f"cannot use the certificate {config.tls_cert} and the key {config.tls_key}: {why}")
    start_tls_ourselves(server.config, limits.connections)
    return server
