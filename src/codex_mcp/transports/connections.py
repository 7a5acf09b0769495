"""Keeps the connections of a web server within its file descriptors: unadmitted connections are closed first."""

from __future__ import annotations

import asyncio
import logging
import resource
import select
import time
from typing import Final

from codex_mcp.transports.connection_limits import ConnectionLimits

logger = logging.getLogger(__name__)

RESERVED_LEAST: Final = 64
RESERVED_MOST: Final = 1024
"""Descriptors reserved for Codex, the log, files and databases: an eighth of all, within these bounds."""

FEWEST: Final = 8
"""Connections that are always allowed."""

LOG_INTERVAL: Final = 10.0
"""Seconds between two log lines about closed connections."""


def connections_for(descriptors: int) -> int:
    return max(FEWEST, descriptors - min(RESERVED_MOST, max(RESERVED_LEAST, descriptors // 8)))


def allowed_descriptors() -> int:
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 1 << 20 if limit == resource.RLIM_INFINITY else limit


class Connections:
    def __init__(self, total: int | None = None) -> None:
        self._limits: ConnectionLimits[asyncio.Transport] = ConnectionLimits(
            connections_for(allowed_descriptors()) if total is None else total
        )
        self._logged_at = -LOG_INTERVAL
        self._closed = 0

    def __len__(self) -> int:
        return len(self._limits)

    def opened(self, transport: asyncio.Transport) -> None:
        for closed in self._limits.opened(transport, _address(transport), time.monotonic(), _has_sent):
            self._note(closed)
            closed.abort()

    def admitted(self, transport: asyncio.Transport) -> None:
        self._limits.admitted(transport)

    def closed(self, transport: asyncio.Transport) -> None:
        self._limits.closed(transport)

    def _note(self, closed: asyncio.Transport) -> None:
        self._closed += 1
        now = time.monotonic()
        if now - self._logged_at >= LOG_INTERVAL:
            self._logged_at = now
            logger.warning(
                "closed %d connections without an admitted request, the last one from %s: "
                "%d of %d connections are of this kind, and the limit is reached",
                self._closed,
                _address(closed) or "this machine",
                self._limits.count,
                len(self),
            )
            self._closed = 0


def _address(transport: asyncio.Transport) -> str:
    """The client's address; empty for this machine."""
    peer = transport.get_extra_info("peername")
    address = str(peer[0]) if isinstance(peer, tuple) and peer else ""
    return "" if address == "::1" or address.startswith(("127.", "::ffff:127.")) else address


def _has_sent(transport: asyncio.Transport) -> bool:
    opened = transport.get_extra_info("socket")
    if opened is None or transport.is_closing() or opened.fileno() < 0:
        return False
    poll = select.poll()
    poll.register(opened.fileno(), select.POLLIN)
    return bool(poll.poll(0))
