"""Keeps the connections of a server within its descriptors and its memory; `budgets` says which ones are closed."""

from __future__ import annotations

import asyncio
import logging
import resource
import select
import struct
import time
from collections.abc import Callable
from socket import SO_LINGER, SOL_SOCKET
from typing import Final, Protocol

from codex_mcp.access.loopback import is_loopback
from codex_mcp.transports.budgets import Budget, Rank, Use
from codex_mcp.transports.connection_limits import ConnectionLimits

logger = logging.getLogger(__name__)

RESERVED_LEAST: Final = 64
RESERVED_MOST: Final = 1024
"""Descriptors reserved for Codex, the log, files and databases: an eighth of all, within these bounds."""

FEWEST: Final = 8
"""Connections that are always allowed."""

HELD_BYTES: Final = 128 * 1024 * 1024
"""Of input that is not complete, and of output that is not read, over all connections. A principal may have half."""

COUNTED_FROM: Final = 64 * 1024
"""Bytes of one connection from which they are counted: less is common, and costs more to count than to keep."""

FRAGMENT_COST: Final = 64
"""Bytes of memory for each fragment of a message, besides its own: it may have one byte, or none."""

INPUT_SECONDS: Final = 30.0
INPUT_RATE: Final = 64 * 1024
"""A message may take this long, and a second more for each of so many bytes that have come."""

AT_ONCE: Final = struct.pack("ii", 1, 0)
"""SO_LINGER of zero seconds: unsent bytes are dropped, and the connection is reset."""

TOO_LATE: Final = "a message did not arrive completely in time"

LOG_INTERVAL: Final = 10.0
"""Seconds between two log lines about closed connections."""


class Member(Protocol):
    """Whoever reads a connection."""

    def use(self) -> Use: ...

    def held_bytes(self) -> int: ...


def connections_for(descriptors: int) -> int:
    return max(FEWEST, descriptors - min(RESERVED_MOST, max(RESERVED_LEAST, descriptors // 8)))


def allowed_descriptors() -> int:
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 1 << 20 if limit == resource.RLIM_INFINITY else limit


def input_deadline(began: float, size: int) -> float:
    """When a message that began then, and of which so much has come, is given up."""
    return began + INPUT_SECONDS + size / INPUT_RATE


class InputClock:
    """Calls `late` when a message of a client has begun and does not arrive completely in time."""

    def __init__(self, transport: asyncio.Transport, unfinished: Callable[[], int], late: Callable[[], None]) -> None:
        """`unfinished`: how many bytes of it have come."""
        self._transport = transport
        self._unfinished = unfinished
        self._late = late
        self._loop = asyncio.get_running_loop()
        self._began = 0.0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_running(self) -> bool:
        return self._began > 0

    def start(self) -> None:
        """A part of a message is here."""
        if not self._began:
            self._began = self._loop.time()
            if self._timer is None:
                self._watch()

    def restart(self) -> None:
        """Its client could not go on before."""
        if self._began:
            self._began = self._loop.time()

    def stop(self) -> None:
        # The timer is left to run: nearly every message is complete at once, and timers cost more than this.
        self._began = 0.0

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _watch(self) -> None:
        self._timer = self._loop.call_at(input_deadline(self._began, self._unfinished()), self._due)

    def _due(self) -> None:
        self._timer = None
        if not self._began or self._transport.is_closing():
            return
        if not self._transport.is_reading():
            self.restart()  # we do not read what it sends
        if self._loop.time() < input_deadline(self._began, self._unfinished()):
            self._watch()
        else:
            self._late()


class Stall:
    """Aborts a connection whose client has read nothing for too long while bytes wait to be sent."""

    def __init__(self, transport: asyncio.Transport, timeout: float) -> None:
        self._transport = transport
        self._timeout = timeout
        self._waiting = 0
        self._timer: asyncio.TimerHandle | None = None
        self.is_over = False
        """The connection was aborted for it."""

    def begin(self) -> None:
        self.end()
        self._waiting = self._transport.get_write_buffer_size()
        self._timer = asyncio.get_running_loop().call_later(self._timeout, self._look)

    def end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        if self._transport.get_write_buffer_size() < self._waiting:
            self.begin()  # slow, but reading
            return
        logger.info("aborted a connection that read nothing for %g s", self._timeout)
        if (opened := self._transport.get_extra_info("socket")) is not None:
            # Otherwise the kernel would keep trying to send some megabytes.
            opened.setsockopt(SOL_SOCKET, SO_LINGER, AT_ONCE)
        self.is_over = True
        self._transport.abort()


class Connections:
    def __init__(self, total: int | None = None, held_bytes: int = HELD_BYTES) -> None:
        self._limits: ConnectionLimits[asyncio.Transport] = ConnectionLimits(
            connections_for(allowed_descriptors()) if total is None else total
        )
        self._bytes: Budget[asyncio.Transport] = Budget(held_bytes, held_bytes // 2)
        self._members: dict[asyncio.Transport, Member] = {}
        self._logged_at = -LOG_INTERVAL
        self._closed = 0

    def __len__(self) -> int:
        return len(self._limits)

    def opened(self, transport: asyncio.Transport, member: Member) -> None:
        self._members[transport] = member
        for closed in self._limits.opened(transport, _address(transport), time.monotonic(), _has_sent):
            self._note(closed)
            self._abort(closed)

    def taken_over(self, transport: asyncio.Transport, member: Member) -> None:
        """Another one reads it from now on."""
        self._members[transport] = member

    def admitted(self, transport: asyncio.Transport, principal: str) -> bool:
        """A request of this principal was let in. False: there is no room, and the caller closes the connection."""
        gone = self._limits.admitted(transport, principal, self._use)
        if gone is None:
            return True
        logger.warning("all connections are taken: closed one of %s, which has the most", principal)
        if gone is not transport:
            self._abort(gone)
        return gone is not transport

    def holds(self, transport: asyncio.Transport, principal: str, size: int) -> bool:
        """It holds so many bytes of unfinished input and unread output. False: too many, the caller closes it."""
        self._bytes.hold(transport, principal, size)
        if not size or self._bytes.to_go(transport, _busy) is None:
            return True
        self._measure_again()
        while transport in self._bytes and (gone := self._bytes.to_go(transport, _busy)) is not None:
            logger.warning("closed a connection: %d bytes of unfinished messages are held", self._bytes.total)
            self._bytes.release(gone)
            if gone is transport:
                return False
            self._abort(gone)
        return True

    def closed(self, transport: asyncio.Transport) -> None:
        """May be called twice."""
        self._limits.closed(transport)
        self._bytes.release(transport)
        self._members.pop(transport, None)

    def _use(self, transport: asyncio.Transport) -> Use:
        member = self._members.get(transport)
        return Use(Rank.IDLE) if member is None or transport.is_closing() else member.use()

    def _measure_again(self) -> None:
        """What was read since it was counted is held no longer."""
        for transport in self._bytes:
            if (member := self._members.get(transport)) is not None:
                self._bytes.change(transport, member.held_bytes())

    def _abort(self, transport: asyncio.Transport) -> None:
        self.closed(transport)
        transport.abort()

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


def _busy(_transport: asyncio.Transport) -> Use:
    return Use(Rank.BUSY)


def _address(transport: asyncio.Transport) -> str:
    """The client's address; empty for this machine."""
    peer = transport.get_extra_info("peername")
    address = str(peer[0]) if isinstance(peer, tuple) and peer else ""
    return "" if is_loopback(address) else address


def _has_sent(transport: asyncio.Transport) -> bool:
    opened = transport.get_extra_info("socket")
    if opened is None or transport.is_closing() or opened.fileno() < 0:
        return False
    poll = select.poll()
    poll.register(opened.fileno(), select.POLLIN)
    return bool(poll.poll(0))
