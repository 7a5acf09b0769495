"""A web server of uvicorn with our limits: made, its certificate loaded, and its address taken before it serves."""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, TypeAlias

import uvicorn

from codex_mcp.base.errors import Refused
from codex_mcp.transports.http import Receive, Scope, Send
from codex_mcp.transports.web_limits import LimitedHttp, WebLimits

KEEP_ALIVE: Final = 75
"""Seconds that an idle connection stays open; pooled clients keep theirs for a minute."""

END_GRACE: Final = 3.0
"""Seconds for clients to read the last answers."""


Application: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]


class _Uvicorn(uvicorn.Server):
    """Leaves signals to its owner."""

    @contextlib.contextmanager
    def capture_signals(self):  # type: ignore[no-untyped-def]
        yield


def web_server(app: Application, limits: WebLimits, **options: Any) -> uvicorn.Server:
    """`options` are those of uvicorn's Config."""
    return _Uvicorn(
        uvicorn.Config(
            app,
            http=partial(LimitedHttp, limits=limits),  # type: ignore[arg-type]  # it is called, as a class would be
            ws="none",  # `LimitedHttp` makes them
            loop="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,  # headers about a client's address are never trusted
            timeout_keep_alive=KEEP_ALIVE,
            timeout_graceful_shutdown=int(END_GRACE),
            **options,
        )
    )


def load_certificate(server: uvicorn.Server) -> str:
    """Load it before the address is announced; the web server would do it later. Return why that is impossible."""
    try:
        server.config.load()
    except OSError as exc:
        return (exc.reason if isinstance(exc, ssl.SSLError) else exc.strerror) or str(exc)
    return ""


def listener(host: str, port: int) -> socket.socket:
    """Raises Refused."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), backlog=2048, family=family)
    except OSError as exc:
        raise Refused(f"cannot listen on {host} port {port}: {exc.strerror or exc}") from exc
