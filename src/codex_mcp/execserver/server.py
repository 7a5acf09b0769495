"""The server behind its transports: connections come and go, sessions stay a while, processes belong to sessions."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Mapping
from typing import Final

from codex_mcp.base.tasks import TaskSet
from codex_mcp.execserver.connection import Connection, Outlet
from codex_mcp.execserver.errors import already_attached, invalid_request
from codex_mcp.execserver.files.answer_budget import AnswerBudget
from codex_mcp.execserver.files.handles import FileHandles
from codex_mcp.execserver.files.missing_watches import MissingWatches
from codex_mcp.execserver.files.requests import Files
from codex_mcp.execserver.http.requests import HttpRequests
from codex_mcp.execserver.methods import Desk
from codex_mcp.execserver.processes.processes import Processes
from codex_mcp.execserver.sandbox.confinement import Confinement
from codex_mcp.execserver.sessions import AlreadyAttached, Sessions, UnknownSession
from codex_mcp.wire.exec.protocol import EnvironmentInfo, Initialize, Initialized

logger = logging.getLogger(__name__)

RETAIN_DETACHED: Final = 30.0
"""Seconds a session outlives its connection. Clients give up at 25, because both clocks start apart."""

KILL_PATIENCE: Final = 2.0
"""Seconds a killed process has to vanish. It takes milliseconds, unless it hangs in the kernel."""

MAX_CONNECTIONS: Final = 1024
"""Connections at once; each may hold 128 files. Nobody needs more, and a runaway client ends here."""

MAX_SESSIONS: Final = 4096
"""Sessions at once, detached ones included: a client that reconnects without resuming leaves one every time."""


class Server:
    """All connections and sessions of one exec-server."""

    def __init__(
        self, info: EnvironmentInfo, environment: Mapping[str, str], confinement: Confinement, concurrent: int
    ) -> None:
        self._info = info
        self._environment = environment
        self._confinement = confinement
        self._concurrent = concurrent
        self.budget = AnswerBudget()
        self._loop = asyncio.get_running_loop()
        self._connections: set[Connection] = set()
        self.sessions: Sessions[Processes] = Sessions(RETAIN_DETACHED)
        self._ending: set[Processes] = set()
        self._tasks = TaskSet()
        self._is_closing = False

    def __repr__(self) -> str:
        return f"<Server {len(self._connections)} connections, {self.sessions!r}>"

    def is_full(self) -> bool:
        """No further connection fits."""
        return len(self._connections) >= MAX_CONNECTIONS or len(self.sessions) >= MAX_SESSIONS

    def accept(self, outlet: Outlet) -> Connection:
        """A client has come."""
        connection = Connection(outlet, self, self._concurrent)
        self._connections.add(connection)
        return connection

    def initialize(self, connection: Connection, asked: Initialize) -> tuple[Initialized, Desk]:
        """Open a session, or let a returned client have its own again."""
        session_id, processes = self._session_for(connection, asked.resume_session_id)
        processes.audience.outlet = connection.outlet
        if asked.resume_session_id is not None:
            processes.resumed()
        logger.info("session %s: attached by %s (%s)", session_id, asked.client_name, connection.outlet.peer)
        files, handles = Files(self._confinement, self.budget), FileHandles(self._confinement)
        desk = Desk(
            processes, files, handles, MissingWatches(connection.outlet), HttpRequests(connection.outlet), self._info
        )
        return Initialized(session_id, self._info), desk

    def _session_for(self, connection: Connection, resumed: str | None) -> tuple[str, Processes]:
        if resumed is None:
            session_id = str(uuid.uuid4())
            processes = Processes(self._environment, self._confinement)
            self.sessions.open(session_id, processes, connection)
            return session_id, processes
        try:
            return resumed, self.sessions.resume(resumed, connection)
        except UnknownSession:
            raise invalid_request(f"unknown session id {resumed}") from None
        except AlreadyAttached as exc:
            if isinstance(exc.holder, Connection):
                exc.holder.outlet.probe()  # it may be gone without a word; then the client's next try succeeds
            raise already_attached(resumed) from None

    def detach(self, connection: Connection) -> None:
        """A connection is over; its session waits for another."""
        self._connections.discard(connection)
        if self._is_closing:
            return
        self._tasks.spawn(connection.aclose(), name="close connection")
        if connection.session_id is None:
            return
        processes = self.sessions.detach(connection.session_id, connection, self._loop.time())
        if processes is not None:
            logger.info("session %s: detached, %d processes", connection.session_id, len(processes))
            processes.audience.outlet, processes.audience.is_full = None, False
            processes.audience_changed()
            self._loop.call_later(RETAIN_DETACHED, self._expire)

    def _expire(self) -> None:
        if not self._is_closing:
            for processes in self.sessions.expire(self._loop.time()):
                logger.info("a session is over: nobody came back for it")
                self._ending.add(processes)
                self._tasks.spawn(self._end(processes), name="end session")

    async def _end(self, processes: Processes) -> None:
        await processes.aclose(KILL_PATIENCE)
        self._ending.discard(processes)

    async def aclose(self) -> None:
        """Kill every process, close every connection. Twice is fine."""
        self._is_closing = True
        await self._tasks.aclose()
        connections, self._connections = self._connections, set()
        for connection in connections:
            await connection.aclose()
        await asyncio.gather(*(self._end(processes) for processes in {*self.sessions.all(), *self._ending}))
        self._confinement.close()
        for connection in connections:
            connection.outlet.drop()
