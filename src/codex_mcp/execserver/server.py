"""The connections and sessions of an exec-server. A session and its processes outlive a lost connection for a while."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Mapping
from typing import Final

from codex_mcp.base.tasks import TaskSet
from codex_mcp.execserver.connection import ClientTransport, Connection
from codex_mcp.execserver.errors import already_attached, invalid_request
from codex_mcp.execserver.files.answer_budget import AnswerBudget
from codex_mcp.execserver.files.handles import FileHandles
from codex_mcp.execserver.files.missing_watches import MissingWatches
from codex_mcp.execserver.files.requests import Files
from codex_mcp.execserver.http.requests import HttpRequests
from codex_mcp.execserver.methods import Services
from codex_mcp.execserver.processes.processes import Processes
from codex_mcp.execserver.sandbox.confinement import Confinement
from codex_mcp.execserver.sessions import AlreadyAttached, Sessions, UnknownSession
from codex_mcp.wire.exec.protocol import EnvironmentInfo, Initialize, Initialized

logger = logging.getLogger(__name__)

RETAIN_DETACHED: Final = 30.0
"""Seconds that a session outlives its connection. Clients give up after 25, as they may notice the loss earlier."""

KILL_PATIENCE: Final = 2.0
"""Seconds to wait for a killed process. It takes milliseconds, unless the process hangs in the kernel."""

MAX_CONNECTIONS: Final = 1024
"""Each connection may hold 128 open files. Stops a runaway client."""

MAX_SESSIONS: Final = 4096
"""Including detached ones: a client that reconnects without resuming leaves one each time."""


class Server:
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

    def is_full(self) -> bool:
        return len(self._connections) >= MAX_CONNECTIONS or len(self.sessions) >= MAX_SESSIONS

    def accept(self, transport: ClientTransport) -> Connection:
        connection = Connection(transport, self, self._concurrent)
        self._connections.add(connection)
        return connection

    def initialize(self, connection: Connection, asked: Initialize) -> tuple[Initialized, Services]:
        send = connection.transport.send
        session_id, processes = self._session_for(connection, asked.resume_session_id)
        processes.attach(send, is_resumed=asked.resume_session_id is not None)
        logger.info("session %s: attached by %s (%s)", session_id, asked.client_name, connection.transport.peer)
        files, handles = Files(self._confinement, self.budget), FileHandles(self._confinement)
        services = Services(processes, files, handles, MissingWatches(send), HttpRequests(send), self._info)
        return Initialized(session_id, self._info), services

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
                exc.holder.transport.probe()  # if its peer has vanished, the client's next attempt succeeds
            raise already_attached(resumed) from None

    def detach(self, connection: Connection) -> None:
        self._connections.discard(connection)
        if self._is_closing:
            return
        self._tasks.spawn(connection.aclose(), name="close connection")
        if connection.session_id is None:
            return
        processes = self.sessions.detach(connection.session_id, connection, self._loop.time())
        if processes is not None:
            logger.info("session %s: detached, %d processes", connection.session_id, len(processes))
            processes.detach()
            self._loop.call_later(RETAIN_DETACHED, self._expire)

    def _expire(self) -> None:
        if not self._is_closing:
            for processes in self.sessions.expire(self._loop.time()):
                logger.info("a session has expired: it was not resumed")
                self._ending.add(processes)
                self._tasks.spawn(self._end(processes), name="end session")

    async def _end(self, processes: Processes) -> None:
        await processes.aclose(KILL_PATIENCE)
        self._ending.discard(processes)

    async def aclose(self) -> None:
        """Kill every process and close every connection. May be called twice."""
        self._is_closing = True
        await self._tasks.aclose()
        connections, self._connections = self._connections, set()
        for connection in connections:
            await connection.aclose()
        await asyncio.gather(*(self._end(processes) for processes in {*self.sessions.all(), *self._ending}))
        self._confinement.close()
        for connection in connections:
            connection.transport.drop()
