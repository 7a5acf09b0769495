"""The relay sockets: opens them with their tickets, and passes frames on as `routes` says."""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Sequence
from functools import partial
from typing import Final

from codex_mcp.relay.errors import RelayError
from codex_mcp.relay.frames import MAX_FRAME_BYTES
from codex_mcp.rendezvous.audit import RelayAudit
from codex_mcp.rendezvous.metrics import Metrics
from codex_mcp.rendezvous.registry import Registry, RegistryError
from codex_mcp.rendezvous.relay_socket import ENOUGH, REFUSED, RESTARTING, REVOKED, SUPERSEDED, RelaySocket
from codex_mcp.rendezvous.routes import Outgoing, Routes, StreamOwner
from codex_mcp.rendezvous.tickets import HarnessTicket, Registration
from codex_mcp.transports.http import HttpExchange
from codex_mcp.transports.websockets.socket import SocketRules

logger = logging.getLogger(__name__)

STALL_SECONDS: Final = 60.0
"""A client that reads nothing for so long is cut off."""

RULES: Final = SocketRules(
    is_binary=True,
    room=(ENOUGH, ENOUGH // 4),
    pong_patience=60.0,
    stall_timeout=STALL_SECONDS,
    counts_unsent=True,
    message_bytes=MAX_FRAME_BYTES,
)
"""Pings as at both ends of Codex's own relay."""

CROWDED = "you have too many connections, and all are in use; close one, or try again later"


class Relay:
    def __init__(self, routes: Routes, registry: Registry, audit: RelayAudit) -> None:
        self.routes = routes
        self.metrics = Metrics(registry.online, self.routes.count, lambda: len(self._sockets))
        self._registry = registry
        self._audit = audit
        self._sockets: dict[int, RelaySocket] = {}
        self._harnesses: dict[RelaySocket, HarnessTicket] = {}
        self._numbers = itertools.count(1)
        self._is_closing = False

    async def serve_executor(self, signed: str, http: HttpExchange) -> None:
        """Raises RegistryError before the socket is accepted."""
        self._check_open()
        registration = self._registry.executor_arrived(signed, time.time())
        if (socket := self._accept(registration.principal, http)) is None:
            return
        last = self._registry.executor_connected(registration)
        if (earlier := self._executor(last.id)) is not None:
            earlier.close(SUPERSEDED)
            self._send(self.routes.executor_left(last.id, earlier.number, time.monotonic()))
        if last.id != registration.id:
            self._send(self.routes.abandoned(last.id))
        self.routes.executor_arrived(registration.id, socket.number)
        self._audit.note(
            "executor_connected", registration.principal, registration.environment_id, registration=registration.id
        )
        try:
            socket.begin(partial(self._from_executor, registration.id))
            await socket.ended
        finally:
            if self._executor(registration.id) is socket:
                self._executor_left(socket, registration)
            self._gone(socket)

    async def serve_harness(self, signed: str, http: HttpExchange) -> None:
        """Raises RegistryError before the socket is accepted."""
        self._check_open()
        ticket = self._registry.harness_arrived(signed, time.time())
        if (socket := self._accept(ticket.principal, http)) is None:
            return
        self._harnesses[socket] = ticket
        self.routes.harness_arrived(
            socket.number, ticket.registration_id, StreamOwner(ticket.principal, ticket.fingerprint)
        )
        try:
            socket.begin(partial(self._from_harness, socket, ticket.registration_id))
            self._slow_down(ticket.registration_id)
            await socket.ended
        finally:
            del self._harnesses[socket]
            self._send(self.routes.harness_left(socket.number, time.monotonic()))
            self._gone(socket)

    def check_grants(self) -> None:
        """The token file has changed: close what is no longer allowed."""
        for registration in self._registry.revoked():
            if (executor := self._executor(registration.id)) is not None:
                executor.close(REVOKED)
        for socket, ticket in self._harnesses.items():
            if not self._registry.may_still_reach(ticket):
                socket.close(REVOKED)

    def expire(self) -> None:
        self._registry.expire(time.time())
        self._send(self.routes.expire(time.monotonic()))

    def close_all(self) -> None:
        """Refuse new sockets and close the open ones, once their queues are sent."""
        self._is_closing = True
        for socket in list(self._sockets.values()):
            socket.close(RESTARTING)

    def __len__(self) -> int:
        return len(self._sockets)

    def _check_open(self) -> None:
        if self._is_closing:
            raise RegistryError(503, "stopping", "the rendezvous stops; try again in a moment")

    def _accept(self, principal: str, http: HttpExchange) -> RelaySocket | None:
        """None: the client is gone, or has not asked for a socket correctly."""
        if http.connection is not None and not http.connection.admitted(principal):
            raise RegistryError(503, "crowded", CROWDED)
        socket = http.accept(RULES, partial(RelaySocket, next(self._numbers)))
        if socket is not None:
            self._sockets[socket.number] = socket
        return socket

    def _from_executor(self, registration_id: str, frame: bytes) -> None:
        try:
            self._send(self.routes.from_executor(registration_id, frame, time.monotonic()))
        except RelayError:
            self.metrics.unreadable += 1

    def _from_harness(self, socket: RelaySocket, registration_id: str, frame: bytes) -> None:
        try:
            self._send(self.routes.from_harness(socket.number, frame))
        except RelayError:
            self.metrics.unreadable += 1
        self._slow_down(registration_id)

    def _slow_down(self, registration_id: str) -> None:
        """While the executor has no room, none of its harnesses is read: a frame of each would be too much for it."""
        executor = self._executor(registration_id)
        if executor is None or not executor.is_full:
            return
        for socket, ticket in self._harnesses.items():
            if ticket.registration_id == registration_id:
                executor.slow_down(socket)

    def _executor(self, registration_id: str) -> RelaySocket | None:
        return self._sockets.get(self.routes.executor_socket(registration_id) or 0)

    def _send(self, outgoing: Sequence[Outgoing]) -> None:
        for each in outgoing:
            socket = self._sockets.get(each.socket)
            if socket is None:
                continue
            if socket.put(each.frame):
                self.metrics.sent(len(each.frame))
                if each.is_last:
                    socket.close(REFUSED)
            else:
                self._too_slow(socket)

    def _too_slow(self, socket: RelaySocket) -> None:
        logger.warning("closed relay socket %d: it does not read what it is sent", socket.number)
        self.metrics.too_slow += 1
        socket.abort()

    def _executor_left(self, socket: RelaySocket, registration: Registration) -> None:
        self._registry.executor_left(registration, time.time())
        self._send(self.routes.executor_left(registration.id, socket.number, time.monotonic()))
        self._audit.note("executor_left", registration.principal, registration.environment_id)

    def _gone(self, socket: RelaySocket) -> None:
        del self._sockets[socket.number]
        socket.close(SUPERSEDED)  # those who wait for it continue
