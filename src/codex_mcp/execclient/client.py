"""A client of an exec-server: start processes and reach files there, and ride out a lost connection.

    async with ExecServerClient("ws://127.0.0.1:4512") as client:
        process = await client.start(["make", "test"], Launch(cwd="/srv/project"))
        async for event in process.events(): ...

What the connection's end leaves in doubt is cleared up here: a start that may or may not have happened is ended on the
server once there is a connection again, never adopted.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Sequence
from types import TracebackType
from typing import Final, TypeAlias

import msgspec

from codex_mcp.base.tasks import TaskSet
from codex_mcp.execclient.connection import Connection
from codex_mcp.execclient.dial import Route, route_to
from codex_mcp.execclient.errors import ExecServerError, ProcessLost, RequestRefused, SessionLost
from codex_mcp.execclient.files import RemoteFiles
from codex_mcp.execclient.link import Link, outcome_unknown
from codex_mcp.execclient.options import DEFAULT_LAUNCH, DEFAULT_OPTIONS, ExecServerClientConnectOptions, Launch
from codex_mcp.execclient.ordering import Event
from codex_mcp.execclient.process import Process
from codex_mcp.execclient.recovery import State
from codex_mcp.execclient.uris import file_uri
from codex_mcp.execclient.watches import Watches
from codex_mcp.rpc.errors import ConnectionLost
from codex_mcp.wire.exec.files import MissingChanged
from codex_mcp.wire.exec.protocol import (
    EnvironmentInfo,
    EnvironmentStatus,
    ProcessClosed,
    ProcessExited,
    ProcessOutput,
    ProcessStarted,
    ProcessTerminated,
    StartProcess,
    TerminateProcess,
)
from codex_mcp.wire.jsonrpc import Notification

logger = logging.getLogger(__name__)

CLOSING_SECONDS: Final = 2.0
"""For ending what still runs when the client is closed; a server that takes longer ends it 30 s later by itself."""

News: TypeAlias = Event | MissingChanged

NOTIFICATIONS: Final[dict[str, msgspec.json.Decoder[News]]] = {
    "process/output": msgspec.json.Decoder(ProcessOutput),
    "process/exited": msgspec.json.Decoder(ProcessExited),
    "process/closed": msgspec.json.Decoder(ProcessClosed),
    "fs/missingChanged": msgspec.json.Decoder(MissingChanged),
}


class ExecServerClient:
    """One session with one server. An async context manager: leaving it ends the processes that still run."""

    def __init__(self, server: str | Route, options: ExecServerClientConnectOptions = DEFAULT_OPTIONS) -> None:
        """`server` is a ws:// or wss:// URL, or a route of your own."""
        route = route_to(server, options) if isinstance(server, str) else server
        self._link = Link(route.dial, options, self, can_resume=route.can_resume)
        self._watches = Watches(self._link)
        self.files = RemoteFiles(self._link, self._watches)
        self._processes: dict[str, Process] = {}
        self._starting: set[str] = set()
        self._doubtful: set[str] = set()
        """Processes that may run and that nobody wants: starts without an answer, and those that we lost track of."""
        self._tasks = TaskSet()
        self._is_closing = False

    def __repr__(self) -> str:
        return f"<ExecServerClient {self._link!r}, {len(self._processes)} processes>"

    async def __aenter__(self) -> ExecServerClient:
        await self._link.open()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    @property
    def state(self) -> State:
        """Connected, recovering or failed."""
        return self._link.state

    @property
    def session_id(self) -> str:
        """What another client needs to resume this session after `detach()`."""
        return self._link.session_id

    @property
    def environment(self) -> EnvironmentInfo:
        """What the server said about its machine when we connected."""
        return self._link.environment

    @property
    def can_resize(self) -> bool:
        """Does the server offer `Process.resize()`? (Codex's own does not.)"""
        return self._link.capabilities.process_resize

    @property
    def can_close_stdin(self) -> bool:
        """Does the server offer `Process.close_stdin()`? (Codex's own does not.)"""
        return self._link.capabilities.process_close_stdin

    async def environment_info(self) -> EnvironmentInfo:
        """Ask again."""
        return await self._link.call("environment/info", {}, EnvironmentInfo)

    async def environment_status(self) -> EnvironmentStatus:
        """Is it ready?"""
        return await self._link.call("environment/status", {}, EnvironmentStatus)

    async def start(self, argv: Sequence[str], launch: Launch = DEFAULT_LAUNCH) -> Process:
        """Start a process. Raises RequestRefused; OutcomeUnknown if the connection broke (it is then ended)."""
        connection = await self._link.current()
        process_id = launch.process_id if launch.process_id is not None else uuid.uuid4().hex
        if process_id in self._processes or process_id in self._doubtful:
            raise ExecServerError(f"cannot start process {process_id}: another of that name is not over yet")
        params = self._start_params(process_id, argv, launch)
        # Its first words may come before the answer.
        process = self._processes[process_id] = Process(process_id, self._link)
        self._starting.add(process_id)
        try:
            await connection.call("process/start", params, ProcessStarted)
        except ConnectionLost as exc:
            raise outcome_unknown("process/start") from exc
        except RequestRefused:
            self._forget(process)
            raise
        except asyncio.CancelledError:
            self._give_up(process)
            raise
        finally:
            self._starting.discard(process_id)
        return process

    async def adopt(self, process_id: str) -> Process:
        """Follow a process of a resumed session from its first event on. Raises ProcessLost if not all is retained."""
        if process_id in self._processes:
            raise ExecServerError(f"cannot adopt process {process_id}: this client has it already")
        connection = await self._link.current()
        process = self._processes[process_id] = Process(process_id, self._link)
        try:
            await process.catch_up(connection)
        except BaseException as exc:
            self._forget(process)
            if isinstance(exc, ConnectionLost):
                raise outcome_unknown("process/read") from exc
            raise
        self._tidy(process)
        return process

    async def detach(self) -> str:
        """Hang up and let the processes run: the server keeps them 30 s for whoever resumes the returned session."""
        left = list(self._processes.values())
        self._processes.clear()
        await self.aclose()
        for process in left:
            process.fail(SessionLost(f"cannot follow process {process.id} any longer: this client let go of it"))
        return self.session_id

    async def aclose(self) -> None:
        """End what runs, hang up, tell everyone who waits. Twice is fine."""
        if not self._is_closing and self._link.state is State.CONNECTED:
            await self._end_processes()
        self._is_closing = True
        await self._tasks.aclose()
        await self._link.aclose()

    def notification_received(self, message: Notification) -> None:
        """The server tells something: an event of a process, or of a watch."""
        decoder = NOTIFICATIONS.get(message.method)
        if decoder is None:
            logger.debug("ignored: %s", message.method)
            return
        try:
            news = decoder.decode(message.params)
        except msgspec.MsgspecError as exc:
            logger.warning("a notification %s could not be read: %s", message.method, exc)
            return
        if isinstance(news, MissingChanged):
            self._watches.missing_changed(news.watch_id)
        elif (process := self._processes.get(news.process_id)) is not None:
            self._event_received(process, news)

    def connection_lost(self) -> None:
        """Starts that were on their way are in doubt; watches have ended."""
        for process_id in self._starting:
            self._doubtful.add(process_id)
            self._processes.pop(process_id, None)
        self._watches.connection_lost()

    async def connection_resumed(self, connection: Connection) -> None:
        """End what is in doubt, then catch up with every process, all at once."""
        try:
            async with asyncio.TaskGroup() as group:
                for process_id in self._doubtful:
                    group.create_task(self._end(connection, process_id))
                for process in self._processes.values():
                    group.create_task(self._catch_up(connection, process))
        except ExceptionGroup as trouble:
            # Not `except*`: what is raised in there comes out in a group in some releases of Python, alone in others.
            if trouble.split(ConnectionLost)[1] is not None:
                raise
            raise ConnectionLost("it broke again while we caught up") from trouble

    def session_lost(self, error: SessionLost) -> None:
        """Every process is lost with the session."""
        for process in self._processes.values():
            process.fail(error)
        self._processes.clear()
        self._watches.connection_lost()

    def _start_params(self, process_id: str, argv: Sequence[str], launch: Launch) -> StartProcess:
        cwd = launch.cwd or self.environment.cwd
        if cwd is None:
            raise ExecServerError("cannot start a process: the server does not say where it is; give a cwd")
        return StartProcess(
            process_id,
            list(argv),
            file_uri(cwd),
            dict(launch.env or {}),
            launch.tty,
            launch.pipe_stdin,
            launch.arg0,
            launch.env_policy,
            launch.sandbox,
        )

    def _event_received(self, process: Process, event: Event) -> None:
        try:
            process.event_received(event)
        except ProcessLost as exc:
            self._lose(process, exc)
        self._tidy(process)

    async def _catch_up(self, connection: Connection, process: Process) -> None:
        try:
            await process.catch_up(connection)
        except ExecServerError as exc:
            self._lose(process, exc if isinstance(exc, ProcessLost) else ProcessLost(str(exc)))
        self._tidy(process)

    def _lose(self, process: Process, why: ProcessLost) -> None:
        """This process alone cannot be followed any longer: tell its reader, and end it on the server."""
        logger.warning("%s", why)
        process.fail(why)
        self._give_up(process)

    def _give_up(self, process: Process) -> None:
        self._forget(process)
        if not self._is_closing:
            self._doubtful.add(process.id)
            self._tasks.spawn(self._clear_up(process.id), name=f"end process {process.id}")

    async def _clear_up(self, process_id: str) -> None:
        try:
            connection = await self._link.current()
            if process_id in self._doubtful:
                await self._end(connection, process_id)
        except (SessionLost, ConnectionLost) as exc:
            logger.info("process %s was not ended: %s", process_id, exc)

    async def _end(self, connection: Connection, process_id: str) -> None:
        try:
            await connection.call("process/terminate", TerminateProcess(process_id), ProcessTerminated)
        except ExecServerError as exc:
            logger.warning("process %s was not ended: %s", process_id, exc)
        self._doubtful.discard(process_id)

    async def _end_processes(self) -> None:
        running = [process_id for process_id, process in self._processes.items() if not process.is_over]
        try:
            async with asyncio.timeout(CLOSING_SECONDS), asyncio.TaskGroup() as group:
                for process_id in {*running, *self._doubtful}:
                    group.create_task(self._clear_up_now(process_id))
        except TimeoutError:
            logger.warning("the server did not end %d processes in time; it will, 30 s from now", len(running))

    async def _clear_up_now(self, process_id: str) -> None:
        self._doubtful.add(process_id)
        await self._clear_up(process_id)

    def _tidy(self, process: Process) -> None:
        if process.is_over:
            self._forget(process)

    def _forget(self, process: Process) -> None:
        # Only this very one: a newer process may have its name.
        if self._processes.get(process.id) is process:
            del self._processes[process.id]
