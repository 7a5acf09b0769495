"""The connections of a web server, within what the system allows a process: strangers give way first."""

from __future__ import annotations

import asyncio
import logging
import resource
import select
import time
from typing import Final

from codex_mcp.transports.strangers import Strangers

logger = logging.getLogger(__name__)

RESERVED_LEAST: Final = 64
RESERVED_MOST: Final = 1024
"""Descriptors that are kept for Codex, the log, files and databases: an eighth of all, within these bounds."""

FEWEST: Final = 8
"""Connections that are allowed in any case."""

LOG_INTERVAL: Final = 10.0
"""Seconds between two lines of the log about connections that were closed."""


def connections_for(descriptors: int) -> int:
    """How many connections a process may have that may open this many files."""
    return max(FEWEST, descriptors - min(RESERVED_MOST, max(RESERVED_LEAST, descriptors // 8)))


def allowed_descriptors() -> int:
    """How many files this process may open."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 1 << 20 if limit == resource.RLIM_INFINITY else limit


class Connections:
    """All of them."""

    def __init__(self, total: int | None = None) -> None:
        self._strangers: Strangers[asyncio.Transport] = Strangers(
            connections_for(allowed_descriptors()) if total is None else total
        )
        self._logged_at = -LOG_INTERVAL
        self._closed = 0

    def __len__(self) -> int:
        """How many there are."""
        return len(self._strangers)

    def opened(self, transport: asyncio.Transport) -> None:
        """Somebody connects."""
        for closed in self._strangers.opened(transport, _address(transport), time.monotonic(), _has_sent):
            self._note(closed)
            closed.abort()

    def admitted(self, transport: asyncio.Transport) -> None:
        """A request on it was let in."""
        self._strangers.admitted(transport)

    def closed(self, transport: asyncio.Transport) -> None:
        """It is over."""
        self._strangers.closed(transport)

    def _note(self, closed: asyncio.Transport) -> None:
        self._closed += 1
        now = time.monotonic()
        if now - self._logged_at >= LOG_INTERVAL:
            self._logged_at = now
            logger.warning(
                "closed %d connections without an admitted request, the last one from %s: "
                "%d of %d connections are such, and no more fit",
                self._closed,
                _address(closed) or "this machine",
                self._strangers.count,
                len(self),
            )
            self._closed = 0


def _address(transport: asyncio.Transport) -> str:
    """From where it comes; empty for this machine."""
    peer = transport.get_extra_info("peername")
    address = str(peer[0]) if isinstance(peer, tuple) and peer else ""
    return "" if address == "::1" or address.startswith(("127.", "::ffff:127.")) else address


def _has_sent(transport: asyncio.Transport) -> bool:
    """Is there something of it that was not read yet?"""
    opened = transport.get_extra_info("socket")
    if opened is None or transport.is_closing() or opened.fileno() < 0:
        return False
    poll = select.poll()
    poll.register(opened.fileno(), select.POLLIN)
    return bool(poll.poll(0))
